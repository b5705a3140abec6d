"""Simulations of archived histories: totals, digests, files, scenarios and refusals."""

import errno
import json
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typing_extensions import override

from analytics.backfill.change.parameters import BadParameter
from analytics.backfill.diff.compared_runs import NotComparable, compared_runs
from analytics.backfill.plan import UnknownRun, directory_of, load
from analytics.backfill.publish import publishable
from analytics.backfill.run import runs_dir
from analytics.backfill.simulations import UNFINISHED
from analytics.engines import local
from analytics.engines.failure import EngineFailed
from analytics.engines.selection import Selection
from analytics.simulation import engine, wording
from analytics.simulation.assumptions import RECORDED, Assumptions
from analytics.simulation.engine import Request, simulate
from analytics.simulation.groups import Group, GroupKey
from analytics.simulation.lead_times import drawn_us, experience_of
from analytics.simulation.outcome import Outcome
from analytics.simulation.refusals import SimulationRefused
from analytics.simulation.report import Report
from analytics.simulation.scenarios import (
    BASELINE,
    HISTORY,
    parse_options,
    read_file,
    with_baseline,
)
from analytics.simulation.unit_task import UnitSimulated
from tests.analytics.retailer_log import retailer_log
from tests.analytics.simulations import a_request, in_this_process, no_progress
from tests.analytics.two_runs import Home, a_home

pytestmark = pytest.mark.engines

HIGHER = parse_options(["reorder_point_units=30"])


@pytest.fixture(name="home", scope="module")
def a_home_of_the_module(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return a_home(tmp_path_factory.mktemp("simulated") / "home")


@pytest.fixture(autouse=True)
def units_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run tasks in this process; test_engines and the command's test use the real engines."""
    monkeypatch.setattr(local, "opened_pool", in_this_process)


def run(home: Home, *scenarios: str, **changes: Any) -> Report:
    chosen = [parse_options([text], name=text) for text in scenarios]
    return simulate(replace(a_request(home, *chosen), **changes), no_progress)


def test_equal_requests_give_one_digest_whatever_the_buckets(home: Home) -> None:
    one = run(home, "reorder_point_units=30")
    split = run(home, "reorder_point_units=30", buckets=5)
    other_seed = run(home, "reorder_point_units=30", assumptions=Assumptions(seed=2))
    more = run(home, "reorder_point_units=31")

    assert one.digest == split.digest
    assert one.as_json() == split.as_json()
    assert more.digest != one.digest
    # No supplier of this history delivered, so the seed draws nothing.
    assert (other_seed.digest, other_seed.name != one.name) == (one.digest, True)


def test_two_equal_simulations_that_end_together_share_one_result(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them looks for an earlier result before the other one has written its own."""
    ended: list[Path] = []
    keep = engine._keep

    def keep_second(parts: Path, directory: Path, report: Report) -> None:
        if not ended:
            ended.append(parts)
            monkeypatch.setattr("os.getpid", lambda: 1)
            twin = run(home, "reorder_point_units=33")
            assert twin.directory == directory
            monkeypatch.setattr(Path, "exists", lambda _path, **_: False)
        keep(parts, directory, report)

    monkeypatch.setattr(engine, "_keep", keep_second)
    report = run(home, "reorder_point_units=33")
    monkeypatch.undo()

    names = {path.name for path in report.directory.iterdir()}
    assert names == {"simulation.json", "keys", "orders"}
    assert [path for path in report.directory.parent.iterdir() if path.name[0] == "."] == []


def test_a_result_that_cannot_be_moved_leaves_the_earlier_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mount point, for example a volume of a container, can't be replaced."""

    def busy(_path: Path, _target: Path) -> None:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    parts, earlier = tmp_path / "parts", tmp_path / "earlier"
    for directory in (parts, earlier):
        directory.mkdir()
        (directory / "simulation.json").write_text(directory.name)
    monkeypatch.setattr(Path, "rename", busy)

    with pytest.raises(OSError, match="busy"):
        engine._replace(parts, earlier)

    assert (earlier / "simulation.json").read_text() == "earlier"


def test_scratch_files_of_a_killed_process_with_the_same_pid_stop_no_simulation(
    tmp_path: Path,
) -> None:
    """A new process in a container often has the process id of the former one."""
    directory = tmp_path / "simulation-1"
    with engine._scratch(directory) as left, engine._scratch(directory) as parts:
        assert parts != left
        assert left.match(UNFINISHED)
        assert parts.match(UNFINISHED)


def test_a_higher_reorder_point_orders_more_and_the_baseline_always_runs(home: Home) -> None:
    found = run(home, "reorder_point_units=30")

    assert found.rows == (HISTORY, BASELINE, "reorder_point_units=30")
    more, same = found.outcome("reorder_point_units=30"), found.outcome(BASELINE)
    assert more.ordered_units > same.ordered_units
    assert more.stock_minor > same.stock_minor
    json_row = found.figures("reorder_point_units=30")
    assert json_row["less_baseline"]["ordered_units"] == more.ordered_units - same.ordered_units


@pytest.mark.parametrize("dimension", ["store", "supplier", "class"])
def test_groups_add_up_to_the_total(home: Home, dimension: str) -> None:
    found = run(home, "reorder_point_units=30")

    for name in found.rows:
        parts = [found.outcome(name, dimension, value) for value in found.values(dimension)]
        together = Outcome()
        for part in parts:
            together.add(part)
        assert sum(part.keys for part in parts) == 9
        assert together == found.outcome(name)


def test_a_selection_simulates_its_items_only(home: Home) -> None:
    everything = run(home)
    one_store = run(home, selection=Selection(stores=("L0",)))
    one_key = run(home, selection=Selection(keys=("L0|S3",)))

    assert one_store.outcome(BASELINE) == everything.outcome(BASELINE, "store", "L0")
    assert one_key.outcome(BASELINE).keys == 1
    with pytest.raises(SimulationRefused, match=r"no item can be simulated.*key L9"):
        run(home, selection=Selection(keys=("L9|S9",)))


def test_the_result_directory_holds_rows_marked_as_simulated(home: Home) -> None:
    found = run(home, "reorder_point_units=30")

    report = json.loads((found.directory / "simulation.json").read_text())
    assert (report["kind"], report["schema"], report["simulated"]) == ("simulation", 1, True)
    assert report["digest"] == found.digest
    keys = pq.read_table(found.directory / "keys").to_pylist()
    orders = pq.read_table(found.directory / "orders").to_pylist()
    assert {row["simulated"] for row in (*keys, *orders)} == {True}
    assert {row["scenario"] for row in keys} == set(found.rows)
    assert {row["need_id"].partition(":")[0] for row in orders} == {"SIM"}
    for name in (BASELINE, "reorder_point_units=30"):
        sums = [row for row in keys if row["scenario"] == name]
        lines = [row for row in orders if row["scenario"] == name]
        outcome = found.outcome(name)
        assert sum(row["ordered_units"] for row in sums) == outcome.ordered_units
        assert sum(row["units"] for row in lines) == outcome.ordered_units
        assert len(lines) == outcome.order_lines


def test_a_result_replaces_an_equal_one_and_no_other_files(home: Home, tmp_path: Path) -> None:
    found = run(home, out=tmp_path / "out")
    again = run(home, out=tmp_path / "out")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "precious.txt").write_text("mine")

    assert again.digest == found.digest
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    with pytest.raises(SimulationRefused, match="holds files that no simulation wrote"):
        run(home, out=tmp_path / "other")
    assert (tmp_path / "other" / "precious.txt").read_text() == "mine"


def test_the_result_can_be_written_to_the_working_directory_or_a_link(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "link").symlink_to("here")
    monkeypatch.chdir(tmp_path / "here")

    first = run(home, out=Path())
    again = run(home, out=tmp_path / "link")

    assert first.directory == again.directory == tmp_path / "here"
    assert (tmp_path / "link" / "simulation.json").is_file()


def test_a_simulation_report_reads_the_outcomes_only_once() -> None:
    """Otherwise its time would grow with the square of the number of scenarios."""

    class Groups(dict[GroupKey, Outcome]):
        reads = 0

        @override
        def items(self) -> Any:
            self.reads += 1
            return super().items()

    groups = Groups()
    scenarios = with_baseline([HIGHER])
    for name in (HISTORY, *(one.name for one in scenarios)):
        for number in range(6):
            groups[name, Group(f"S{number % 2}", f"A{number % 3}", "fast")] = Outcome(keys=1)
    found = UnitSimulated("", groups=groups)

    report = Report("simulation-1", Path(), scenarios, Assumptions(), found).as_json()

    assert groups.reads == 1
    assert [row["keys"] for row in report["outcomes"]] == [6, 6, 6]
    assert [row["keys"] for row in report["groups"]] == [3] * 6 + [2] * 9 + [6] * 3


def test_readers_of_runs_refuse_a_simulation(home: Home) -> None:
    found = run(home)
    settings, runs = home.settings, runs_dir(home.settings)
    planted = runs / "local-0123456789ab"
    planted.mkdir(parents=True, exist_ok=True)
    (planted / "plan.json").write_text("{}")
    (planted / "simulation.json").write_bytes((found.directory / "simulation.json").read_bytes())

    for name in (found.name, str(found.directory)):
        with pytest.raises(UnknownRun, match="is a simulation and no run"):
            publishable(settings, name)
        with pytest.raises(UnknownRun, match="is a simulation and no run"):
            directory_of(runs, name)
        with pytest.raises(NotComparable, match="is a simulation and no run"):
            compared_runs(runs, name, name)
    with pytest.raises(UnknownRun, match="is a simulation and no run"):
        load(planted)
    with pytest.raises(UnknownRun, match="is a simulation and no run"):
        publishable(settings, planted.name)


def test_a_failing_item_is_named_and_nothing_is_kept(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: object) -> None:
        problem = "no such rule"
        raise ValueError(problem)

    monkeypatch.setattr("analytics.simulation.unit_task.past_outcome", breaks)
    before = sorted((home.settings.home / "simulations").glob("*"))

    with pytest.raises(EngineFailed, match=r"stage simulate history, key L.\|S.: .*no such rule"):
        run(home, "reorder_point_units=32")
    assert sorted((home.settings.home / "simulations").glob("*")) == before


def test_a_home_without_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SimulationRefused, match=r"no archive of stock\.events") as refused:
        simulate(Request(tmp_path, with_baseline([])), no_progress)
    assert "backfill run" in str(refused.value)


def test_a_file_gives_many_scenarios(tmp_path: Path) -> None:
    toml, lines = tmp_path / "a.toml", tmp_path / "a.jsonl"
    toml.write_text(
        '[[scenario]]\nname = "a"\nset = {ladder_permille = [100, 200], scarce_enabled = true}\n'
        '[[scenario]]\nname = "b"\nset = {hysteresis_units = "null"}\nwhere = {family = "sS"}\n'
    )
    lines.write_text(
        '{"name": "a", "set": {"ladder_permille": [100, 200], "scarce_enabled": true}}\n\n'
        '{"name": "b", "set": {"hysteresis_units": null}, "where": {"replenish_family": "sS"}}\n'
    )

    assert read_file(toml) == read_file(lines)
    assert [one.as_json()["rules"] for one in read_file(toml)] == [
        [{"where": {}, "set": {"ladder_permille": (100, 200), "scarce_enabled": True}}],
        [{"where": {"replenish_family": "sS"}, "set": {"hysteresis_units": None}}],
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "expected scenarios"),
        ("[[scenario]]\nset = {x = 1}", "expected name as a text"),
        ('[[scenario]]\nname = "a"\nset = {}', "sets nothing"),
        ('[[scenario]]\nname = "a"\nset = {no_such = 1}', "scenario 1: .*no such policy column"),
        ('[[scenario]]\nname = "a"\nset = {clock_mode = "live"}', "sets clock_mode"),
        ('[[scenario]]\nname = "a"\nwish = 1', "found name, wish"),
        ("[[scenario]", "a.toml: Expected"),
        ("scenarios = 1", "found scenarios"),
    ],
)
def test_an_invalid_scenario_file_is_refused_with_its_problem(
    tmp_path: Path, text: str, told: str
) -> None:
    file = tmp_path / "a.toml"
    file.write_text(text)

    with pytest.raises(SimulationRefused, match=told):
        read_file(file)


def test_scenario_names_are_unique_and_their_number_is_limited() -> None:
    for names in (["a", "a"], [BASELINE], [HISTORY], [" "]):
        with pytest.raises(SimulationRefused, match="empty, used twice or reserved"):
            with_baseline([replace_name(name) for name in names])
    many = [replace_name(str(number)) for number in range(201)]
    assert len(with_baseline(many[:200])) == 201
    with pytest.raises(SimulationRefused, match="201 scenarios; one command simulates 200"):
        with_baseline(many)


def replace_name(name: str):
    return parse_options(["reorder_point_units=1"], name=name)


def test_a_wrong_parameter_is_refused() -> None:
    with pytest.raises(BadParameter, match="demand_alpha_permille must be an integer 0…1000"):
        parse_options(["demand_alpha_permille=1001"])


def test_lead_times_of_a_source_are_drawn_by_seed_item_and_day() -> None:
    many = Counter(range(500))
    known = experience_of({"supplier A": Counter({5: 1, 3: 2}), "supplier B": many})
    times = known["supplier B"]

    assert known["supplier A"] == (3, 3, 5)
    assert (len(times), times[0], times[-1]) == (101, 0, 499)
    day_us = 86_400_000_000
    drawn = [drawn_us(times, "L|S", day * day_us, 1) for day in range(50)]
    assert drawn == [drawn_us(times, "L|S", day * day_us + 7, 1) for day in range(50)]
    assert len(set(drawn)) > 10
    assert drawn != [drawn_us(times, "L|S", day * day_us, 2) for day in range(50)]


def test_the_baseline_tracks_the_history_of_a_generated_retailer(tmp_path: Path) -> None:
    home = a_home(tmp_path / "home", retailer_log(7, "tiny"))

    found = run(
        home,
        assumptions=Assumptions(approval_minutes=480),
        selection=Selection(stores=("BERLIN-1", "WIEN-1")),
    )

    # docs/decisions/0034 has the figures of all items.
    past, same = found.outcome(HISTORY), found.outcome(BASELINE)
    assert past.keys == 20
    assert abs(same.stock_minor - past.stock_minor) * 10 < past.stock_minor
    assert abs(same.sold_units - past.sold_units) * 50 < past.sold_units
    assert abs(same.ordered_units - past.ordered_units) * 20 < past.ordered_units


def test_recorded_demand_is_what_history_sold(home: Home) -> None:
    found = run(home, assumptions=Assumptions(demand=RECORDED)).outcome(HISTORY)

    assert (found.lost_units, found.estimated_units, found.fill_permille) == (0, 0, 1000)


def test_the_notes_name_refused_parameters_and_the_seed(tmp_path: Path) -> None:
    home = a_home(tmp_path / "home")
    found = run(home, "order_up_to_units=5")

    notes = "\n".join(wording.notes(found))

    assert "order_up_to_units=5: 9 items kept parameters of the log" in notes
    assert "order_up_to_units must be above reorder_point_units" in notes
    assert "seed 1" in wording.assumption_line(found)


def test_units_are_split_into_the_requested_number_of_buckets(home: Home) -> None:
    few = engine.units_for(a_request(home))
    more = engine.units_for(replace(a_request(home), buckets=3))

    assert {unit.buckets for unit in few} == {1}
    assert {unit.buckets for unit in more} == {3}

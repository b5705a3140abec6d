"""Recomputation: any split, engine or restart gives the same digests."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from analytics.backfill.plan import Plan, UnknownRun, make_plan
from analytics.backfill.run import RunReport, execute
from analytics.engines import code
from analytics.engines.code import code_hash, write_zip
from analytics.engines.commits import COMMITS, CommitConflict, commit
from analytics.engines.failure import UnitFailed
from analytics.engines.results import STATES, read_rows
from analytics.engines.task import attempt, recompute
from analytics.simulation.engine import simulate
from analytics.simulation.scenarios import parse_options
from cdc.contracts.decode import Malformed, decode
from cdc.contracts.state import encode_state
from inventory.fold.partition import Partition
from inventory.model.ids import InvKey
from tests.analytics.histories import PARTITIONS, Generated, archived, generate
from tests.analytics.simulations import a_request, no_progress
from tests.analytics.two_runs import a_home

pytestmark = pytest.mark.engines


@pytest.fixture(name="history", scope="module")
def a_history() -> Generated:
    return generate(seed=11)


def plan_of(tmp_path: Path, history: Generated, *, engine: str = "local", buckets: int = 1) -> Plan:
    archive = tmp_path / "archive"
    manifest = archived(archive, history)
    ends = {number: manifest.next_offset(number) for number in range(PARTITIONS)}
    return make_plan(manifest, engine=engine, ends=ends, buckets=buckets)


def digests(report: RunReport) -> dict[str, object]:
    names = ("keys", "outputs", "late", "rejected", "open_reorders", "digest", "states_digest")
    return {name: report.as_json()[name] for name in names}


def test_local_and_spark_give_the_same_digests(tmp_path: Path, history: Generated) -> None:
    local = execute(plan_of(tmp_path, history), tmp_path / "runs")
    spark = execute(plan_of(tmp_path, history, engine="spark"), tmp_path / "runs")

    assert digests(local) == digests(spark)
    assert local.as_json()["keys"] == len(history.keys)
    assert local.as_json()["rejected"] > 0
    assert local.as_json()["late"] > 0


def test_local_and_spark_simulate_alike(tmp_path: Path) -> None:
    request = a_request(a_home(tmp_path / "home"), parse_options(["reorder_point_units=30"]))
    places = {name: tmp_path / name for name in ("local", "spark", "split")}

    local = simulate(replace(request, out=places["local"]), no_progress)
    spark = simulate(replace(request, engine="spark", out=places["spark"]), no_progress)
    split = simulate(replace(request, processes=1, buckets=3, out=places["split"]), no_progress)

    assert spark.as_json() == local.as_json() == split.as_json()
    assert local.outcome("changed").order_lines > local.outcome("baseline").order_lines > 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "local", "spark", "split"]


@pytest.mark.domain("9 W8 *")
def test_any_number_of_buckets_gives_the_same_digests(tmp_path: Path, history: Generated) -> None:
    whole = execute(plan_of(tmp_path, history), tmp_path / "runs")
    split = execute(plan_of(tmp_path, history, buckets=5), tmp_path / "runs")

    assert len(split.plan.units) == 5 * PARTITIONS
    assert digests(split) == digests(whole)


@pytest.mark.domain("9 W8 *")
def test_a_recomputation_gives_the_states_of_a_live_partition(
    tmp_path: Path, history: Generated
) -> None:
    live: dict[InvKey, bytes] = {}
    for arrivals in history.log.values():
        partition = Partition(1)
        for arrival in arrivals:
            try:
                partition.apply(decode(arrival.key, arrival.value, offset=arrival.offset))
            except Malformed:
                continue
        live |= {key: encode_state(state) for key, state in partition.states.items()}

    report = execute(plan_of(tmp_path, history), tmp_path / "runs")

    batch = {
        InvKey(key.decode()): state
        for row in report.rows
        for key, _offset, state in read_rows(row, STATES)
    }
    assert batch == live


def test_a_finished_plan_is_not_computed_again(tmp_path: Path, history: Generated) -> None:
    plan = plan_of(tmp_path, history)
    first = execute(plan, tmp_path / "runs")

    second = execute(plan, tmp_path / "runs")

    assert first.units_computed == PARTITIONS
    assert second.units_computed == 0
    assert digests(second) == digests(first)


def test_an_interrupted_run_computes_only_what_is_missing(
    tmp_path: Path, history: Generated
) -> None:
    plan = plan_of(tmp_path, history)
    whole = execute(plan, tmp_path / "runs")
    manifest = whole.directory / "manifest.jsonl"
    lines = manifest.read_text().splitlines(keepends=True)
    manifest.write_text(lines[0] + lines[1][:30])
    assert not (whole.directory / COMMITS).exists()

    again = execute(plan, tmp_path / "runs")

    assert again.units_computed == PARTITIONS - 1
    assert digests(again) == digests(whole)


def unlist(report: RunReport) -> None:
    """Bring the run into the state that a driver leaves when it is killed before it lists units."""
    (report.directory / "manifest.jsonl").unlink()
    (report.directory / "_RUN.json").unlink()
    for row in report.rows:
        commit(row, report.directory / COMMITS)


def test_the_next_start_lists_committed_units_that_a_killed_driver_did_not_list(
    tmp_path: Path, history: Generated
) -> None:
    plan = plan_of(tmp_path, history)
    whole = execute(plan, tmp_path / "runs")
    unlist(whole)

    again = execute(plan, tmp_path / "runs")

    assert again.units_computed == 0
    assert {row.unit: row for row in again.rows} == {row.unit: row for row in whole.rows}
    assert execute(plan, tmp_path / "runs").units_computed == 0


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda line: line.replace(b'"records":', b'"records":1'), "its checksum doesn't match"),
        (lambda line: line[:-9], "run_unit record"),
    ],
)
def test_a_changed_unit_commit_is_refused(
    tmp_path: Path, history: Generated, change: Callable[[bytes], bytes], problem: str
) -> None:
    plan = plan_of(tmp_path, history)
    whole = execute(plan, tmp_path / "runs")
    unlist(whole)
    changed = min((whole.directory / COMMITS).iterdir())
    changed.write_bytes(change(changed.read_bytes()))

    with pytest.raises(UnknownRun, match=problem):
        execute(plan, tmp_path / "runs")


def test_of_two_attempts_of_one_unit_one_is_committed(tmp_path: Path, history: Generated) -> None:
    """Both attempts compute to their end, as with speculative tasks of Spark."""
    unit = plan_of(tmp_path, history).units[0]
    results, commits = tmp_path / "results", tmp_path / COMMITS
    attempts = [recompute(unit, results), recompute(unit, results)]

    committed = [commit(row, commits) for row in reversed(attempts)]

    assert committed == [attempts[1], attempts[1]]
    assert Path(attempts[1].directory).exists()
    assert not Path(attempts[0].directory).exists()
    assert len(list(commits.iterdir())) == 1
    assert attempt(unit, results) == attempts[1]  # a third attempt computes nothing


def test_attempts_with_other_results_are_a_failure(tmp_path: Path, history: Generated) -> None:
    unit = plan_of(tmp_path, history).units[0]
    first, second = recompute(unit, tmp_path / "results"), recompute(unit, tmp_path / "results")
    commit(first, tmp_path / COMMITS)

    with pytest.raises(CommitConflict, match="a second attempt has another result"):
        commit(replace(second, states_digest="0" * 32), tmp_path / COMMITS)

    other = attempt(replace(unit, end=unit.end - 1), tmp_path / "results")
    assert isinstance(other, UnitFailed)
    assert "committed from other records" in other.problem


def test_a_task_refuses_other_code_than_the_plans(tmp_path: Path, history: Generated) -> None:
    unit = replace(plan_of(tmp_path, history).units[0], code="0123456789abcdef")

    found = attempt(unit, tmp_path / "results")

    assert isinstance(found, UnitFailed)
    assert f"stage start: this process runs code {code_hash()} from " in found.problem
    assert "the plan's code is 0123456789abcdef" in found.problem
    assert not (tmp_path / "results").exists()


def test_the_shipped_zip_has_the_hash_of_its_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code, "ROOT", copied_of_1970(tmp_path / "built"))
    shipped = write_zip(tmp_path)
    program = f"import sys; sys.path.insert(0, {str(shipped)!r}); "
    program += "from analytics.engines import code; print(code.ROOT, code.code_hash())"

    done = subprocess.run(  # noqa: S603 -- the program above
        [sys.executable, "-I", "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == [str(shipped), code_hash()]


def copied_of_1970(tree: Path) -> Path:
    """Return a copy of the sources with the file times of a reproducible build."""
    for name in ("inventory", "cdc", "analytics"):
        shutil.copytree(code.ROOT / name, tree / name)
    for path in tree.rglob("*.py"):
        os.utime(path, (0, 0))
    return tree


def test_a_unit_ends_before_its_end_offset(tmp_path: Path, history: Generated) -> None:
    archive = tmp_path / "archive"
    manifest = archived(archive, history)
    plan = make_plan(manifest, engine="local", ends={0: 40, 1: 0, 2: 5})

    rows = [recompute(unit, tmp_path / "results") for unit in plan.units]

    assert [row.records for row in rows] == [40, 5]

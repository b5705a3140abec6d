"""Runs that start from the states of a finished run (the base), and refusals of a base."""

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from analytics.archive.manifest import Manifest
from analytics.archive.names import SOURCE
from analytics.archive.source import write_source_id
from analytics.backfill.base import UnusableBase, base_of, continued, plan_from
from analytics.backfill.diff.compared_runs import NotComparable, compared_runs
from analytics.backfill.plan import Plan, UnknownRun, directory_of, load, make_plan
from analytics.backfill.publish import publishable
from analytics.backfill.publish_refusals import NotPublishable
from analytics.backfill.run import RunReport, execute, runs_dir
from analytics.backfill.seal import RUN_FILE, load_report, write_report
from analytics.engines import local
from analytics.engines.results import BEATS, HEARTBEATS, SCHEMAS, STATES, read_rows
from analytics.engines.selection import Selection
from analytics.history.opened import NoHistory, Request, open_history
from cdc.settings import Connections
from inventory.revision import LOGIC_REVISION
from tests.analytics.histories import PARTITIONS, generate
from tests.analytics.two_runs import _run_here, a_home

pytestmark = pytest.mark.engines

Ends = Mapping[int, int]


@dataclass(frozen=True)
class Archived:
    """A home with an archive whose runs are computed in this process."""

    settings: Connections
    manifest: Manifest

    @property
    def runs(self) -> Path:
        """Return the directory of the runs."""
        return runs_dir(self.settings)

    def ends(self, share: float = 1.0) -> dict[int, int]:
        """Return the end offset of each partition for the first `share` of its records."""
        return {n: int(self.manifest.next_offset(n) * share) for n in range(PARTITIONS)}

    def complete(self, ends: Ends, *, buckets: int = 1) -> RunReport:
        """Compute a run from the first record on. Return its report."""
        plan = make_plan(self.manifest, engine="local", ends=ends, buckets=buckets)
        return execute(plan, self.runs)

    def plan_from(self, base: RunReport, ends: Ends | None = None) -> Plan:
        """Return the plan of a run from the states of another one."""
        found = base_of(self.runs, base.plan.run)
        return plan_from(self.manifest, ends or self.ends(), base=found, engine="local")

    def later(self, base: RunReport, ends: Ends) -> RunReport:
        """Compute a run from the states of another one. Return its report."""
        return execute(self.plan_from(base, ends), self.runs)


@pytest.fixture
def archived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Archived:
    monkeypatch.setattr(local, "run_units", _run_here)
    home = a_home(tmp_path / "home", generate(seed=11, records=260, heartbeats=True))
    return Archived(home.settings, home.manifest)


def carried(run: RunReport) -> list[object]:
    """Return all data from which a later run starts: states, heartbeats, unit values."""
    contents = [
        sorted(row for unit in run.rows for row in read_rows(unit, kind))
        for kind in (STATES, HEARTBEATS, BEATS)
    ]
    rings = [
        (unit.unit, unit.newest_commit_us, unit.highest_lsn, unit.streamed, unit.open_reorders)
        for unit in run.rows
    ]
    return [*contents, rings, run.as_json()["states_digest"]]


@pytest.mark.parametrize("seed", range(8))
def test_runs_continued_from_a_base_give_the_states_of_a_single_run(
    archived: Archived, seed: int
) -> None:
    rng = random.Random(seed)  # noqa: S311 -- seeded test data
    end = {number: rng.randint(1, last) for number, last in archived.ends().items()}
    second = {number: rng.randint(0, last) for number, last in end.items()}
    first = {number: rng.randint(0, last) for number, last in second.items()}
    buckets = rng.choice([1, 3])

    whole = archived.complete(end, buckets=buckets)
    steps = [archived.complete(first, buckets=buckets)]
    for each in (second, end):
        steps.append(archived.later(steps[-1], each))

    assert carried(steps[-1]) == carried(whole)
    assert sum(step.as_json()["records"] for step in steps) == whole.as_json()["records"]
    for kind in set(SCHEMAS) - {STATES, HEARTBEATS, BEATS}:
        parts = [row for step in steps for unit in step.rows for row in read_rows(unit, kind)]
        assert sorted(parts) == sorted(row for unit in whole.rows for row in read_rows(unit, kind))


def test_a_run_that_ends_at_its_base_changes_no_state(archived: Archived) -> None:
    base = archived.complete(archived.ends(0.5))

    same = archived.later(base, archived.ends(0.5))

    assert carried(same) == carried(base)
    assert same.as_json()["records"] == 0
    assert same.plan.base_name == base.plan.run


def test_a_plan_with_a_base_comes_back_as_it_was_written(archived: Archived) -> None:
    base = archived.complete(archived.ends(0.5))

    run = archived.later(base, archived.ends())

    assert load(run.directory) == run.plan
    assert [unit.begin for unit in run.plan.units] == [row.end for row in base.rows]
    for unit in run.plan.units:
        assert all(source.next_offset > unit.begin for source in unit.sources)


def test_a_changed_seal_of_the_base_changes_the_run_id(archived: Archived) -> None:
    base = archived.complete(archived.ends(0.5))
    before = archived.plan_from(base)

    write_report(base.directory, (load_report(base.directory) or {}) | {"seconds": 1})

    after = archived.plan_from(base)
    assert before.run != after.run
    assert before.units[0].input_digest != after.units[0].input_digest


def of_other_code(plan: Plan) -> Plan:
    return replace(plan, code="0123456789abcdef")


def of_another_revision(plan: Plan) -> Plan:
    return replace(plan, logic_revision=7)


def of_another_topic(plan: Plan) -> Plan:
    return replace(plan, source_topic_id="another")


def of_another_generation(plan: Plan) -> Plan:
    return replace(plan, units=tuple(replace(unit, generation=2) for unit in plan.units))


def of_one_key(plan: Plan) -> Plan:
    return replace(plan, selection=Selection(keys=("L0|S0",)))


def in_other_buckets(plan: Plan) -> Plan:
    return replace(plan, buckets=2)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (of_other_code, "of code .*, expected 0123456789abcdef"),
        (of_another_revision, f"of logic revision {LOGIC_REVISION}, expected 7"),
        (of_another_topic, "with id id-of-the-topic, expected another"),
        (of_another_generation, "of generation 1, expected 2"),
        (of_one_key, r"of all keys, expected key L0\|S0"),
        (in_other_buckets, "of bucket count 1, expected 2"),
    ],
)
def test_a_base_of_other_rules_log_or_keys_is_refused(
    archived: Archived, changed: Callable[[Plan], Plan], told: str
) -> None:
    base = base_of(archived.runs, archived.complete(archived.ends(0.5)).plan.run)
    plan = make_plan(archived.manifest, engine="local", ends=archived.ends())
    assert continued(plan, base).base is not None

    with pytest.raises(UnusableBase, match=told) as refused:
        continued(changed(plan), base)
    assert refused.value.exit_code == 2
    assert "nothing was computed" in str(refused.value)


def test_a_base_of_some_suppliers_is_refused(archived: Archived) -> None:
    chosen = Selection(suppliers=("ACME",))
    plan = make_plan(archived.manifest, engine="local", ends=archived.ends(0.5), selection=chosen)
    base = base_of(archived.runs, execute(plan, archived.runs).plan.run)

    with pytest.raises(UnusableBase, match="also needs the policy rows before the end of the base"):
        continued(plan, base)


def test_a_base_of_an_unknown_topic_is_refused(archived: Archived) -> None:
    (archived.settings.archive_dir / SOURCE).unlink()
    base = archived.complete(archived.ends(0.5))

    with pytest.raises(UnusableBase, match="doesn't state the id of its topic"):
        archived.later(base, archived.ends())

    write_source_id(archived.settings.archive_dir, "id-of-the-topic")
    with pytest.raises(UnusableBase, match="with id None, expected id-of-the-topic"):
        archived.later(base, archived.ends())


def test_a_base_that_ends_after_the_new_run_is_refused(archived: Archived) -> None:
    base = archived.complete(archived.ends(0.5))
    end = base.plan.ends[2]

    archived.later(base, base.plan.ends)
    with pytest.raises(UnusableBase, match=f"ends at offset {end} of partition 2, later than"):
        archived.later(base, {**base.plan.ends, 2: end - 1})


def without_a_report(run: RunReport) -> None:
    (run.directory / RUN_FILE).unlink()


def with_another_report(run: RunReport) -> None:
    path = run.directory / RUN_FILE
    path.write_text(json.dumps(json.loads(path.read_text()) | {"keys": 1}))


def with_other_states(run: RunReport) -> None:
    path = Path(run.rows[0].directory) / "states.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (without_a_report, "is unfinished: 0 of 3 units are missing"),
        (with_another_report, "changed: its seal doesn't match"),
        (with_other_states, r"states\.parquet: changed"),
    ],
)
def test_an_unfinished_or_changed_base_is_refused(
    archived: Archived, spoil: Callable[[RunReport], None], told: str
) -> None:
    base = archived.complete(archived.ends(0.5))
    spoil(base)

    with pytest.raises(UnusableBase, match=told):
        archived.later(base, archived.ends())


def test_a_run_with_a_base_is_not_published_compared_or_written_as_tables(
    archived: Archived,
) -> None:
    whole = archived.complete(archived.ends())
    run = archived.later(archived.complete(archived.ends(0.5)), archived.ends())
    told = "starts from the states of run .* and holds only the outputs after that run's end"

    with pytest.raises(NotPublishable, match=told):
        publishable(archived.settings, run.plan.run)
    with pytest.raises(NotComparable, match=told):
        compared_runs(archived.runs, whole.plan.run, run.plan.run)
    with pytest.raises(NoHistory, match=told):
        open_history(archived.settings, Request(run=run.plan.run))


def test_last_names_the_newest_run_without_a_base(archived: Archived) -> None:
    base = archived.complete(archived.ends(0.5))
    run = archived.later(base, archived.ends())

    assert directory_of(archived.runs, "last") == base.directory
    assert directory_of(archived.runs, str(LOGIC_REVISION)) == base.directory
    assert directory_of(archived.runs, run.plan.run) == run.directory
    with pytest.raises(UnknownRun):
        directory_of(archived.runs, str(LOGIC_REVISION + 1))

"""The tasks of a simulation over one unit of the archive. Every engine runs these functions."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, field
from pathlib import Path

from analytics.archive.rows import MALFORMED, RESENT, ArchiveRow
from analytics.digest import add, row_hash
from analytics.engines.failure import UnitFailed, failed
from analytics.engines.task import CurrentRecord, all_rows, selected_rows
from analytics.engines.unit import ArchiveUnit
from analytics.simulation.assumptions import Assumptions
from analytics.simulation.groups import Group, GroupKey, group_key
from analytics.simulation.key_history import KeyHistory, key_history
from analytics.simulation.lead_times import TABLES, Experience, KeyArrivals, Seconds
from analytics.simulation.outcome import SUMS, Outcome
from analytics.simulation.parts import PartWriter
from analytics.simulation.past import past_outcome
from analytics.simulation.placed_orders import Simulated
from analytics.simulation.scenarios import HISTORY, Scenario
from analytics.simulation.world import Surroundings, World
from cdc.contracts.decode import Malformed, decode
from inventory.log.dedupe import Admission
from inventory.log.validation import is_heartbeat_key
from inventory.model.record import Record


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a task needs besides its unit.

    `experience` has past lead times by source. `parts` is the directory for the per-item rows.
    """

    scenarios: tuple[Scenario, ...]
    assumptions: Assumptions
    experience: Experience
    newest_commit_us: int
    parts: str


@dataclass(slots=True)
class Surveyed:
    """Lead times of one unit by source (supplier or transfers), and its newest commit time."""

    seconds: dict[str, Seconds] = field(default_factory=dict)
    newest_commit_us: int = 0


@dataclass(slots=True)
class UnitSimulated:
    """The result of one unit: outcomes by scenario and group, and the items left out.

    `left_out` counts items by reason. `problems` describes, for each scenario, the first policy row
    that the rules refused. `changed` counts, for each scenario, the items of which it changes a
    policy row. `period` reaches from the first item's start to the last item's end. `off_us` is the
    time in which the log's policies have replenishment off, added over all items.
    """

    unit: str
    groups: dict[GroupKey, Outcome] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    answered_minutes: Counter[int] = field(default_factory=Counter)
    problems: dict[str, str] = field(default_factory=dict)
    changed: Counter[str] = field(default_factory=Counter)
    period: tuple[int, int] | None = None
    never_replenished: int = 0
    off_us: int = 0
    digest: int = 0
    milliseconds: int = 0


def survey(unit: ArchiveUnit) -> Surveyed | UnitFailed:
    """Return lead times and the newest commit time of one unit, or the failure."""
    try:
        return _survey(unit)
    except Exception as error:  # noqa: BLE001 -- the edge of a pool process or executor
        return failed(unit.name, "read lead times", error)


def _survey(unit: ArchiveUnit) -> Surveyed:
    found = Surveyed()
    arrivals: dict[str, KeyArrivals] = {}
    for row in _usable(all_rows(unit, CurrentRecord())):
        if row.commit_us is not None:
            found.newest_commit_us = max(found.newest_commit_us, row.commit_us)
        if row.table in TABLES:
            record = _decoded(row)
            if record is not None:
                arrivals.setdefault(record.key, KeyArrivals()).note(record)
    for key, arrived in arrivals.items():
        for source, seconds in arrived.seconds(key.partition("|")[0]):
            found.seconds.setdefault(source, Counter())[seconds] += 1
    return found


def simulate_unit(unit: ArchiveUnit, plan: Plan) -> UnitSimulated | UnitFailed:
    """Simulate each selected item of a unit in each scenario. Write the outcomes and orders.

    Return the sums over all items, or the failure.
    """
    at = _Current()
    try:
        return _simulated(unit, plan, at)
    except Exception as error:  # noqa: BLE001 -- the edge of a pool process or executor
        return failed(unit.name, f"simulate {at.scenario}", error, key=at.key)


@dataclass(slots=True)
class _Current:
    """The item and scenario that the task is computing, for error messages."""

    key: bytes | None = None
    scenario: str = HISTORY


def _simulated(unit: ArchiveUnit, plan: Plan, at: _Current) -> UnitSimulated:
    started = time.monotonic_ns()
    found = UnitSimulated(unit.name)
    with PartWriter(Path(plan.parts), unit.name) as parts:
        rows = _by_key(unit)
        for key in sorted(rows):
            at.key, at.scenario = key.encode(), HISTORY
            _simulate_key(_KeyTask(unit, plan, key, rows.pop(key)), found, parts, at)
    found.milliseconds = (time.monotonic_ns() - started) // 1_000_000
    return found


@dataclass(frozen=True, slots=True)
class _KeyTask:
    unit: ArchiveUnit
    plan: Plan
    key: str
    rows: list[ArchiveRow]

    def records(self) -> Iterator[tuple[Record, Admission]]:
        """Yield the decoded records with the archiver's verdicts."""
        for row in self.rows:
            record = _decoded(row)
            if record is not None:
                yield record, Admission[row.admission.upper()]


def _simulate_key(task: _KeyTask, found: UnitSimulated, parts: PartWriter, at: _Current) -> None:
    history = key_history(task.key, task.unit.generation, task.records())
    if history.left_out:
        found.left_out[history.left_out] += 1
        return
    around = _surroundings(task, history)
    past = past_outcome(history, around.assumptions, around.end_us)
    group = group_key(history, past)
    found.answered_minutes += history.answered_minutes
    _add(found, parts, (HISTORY, group, task.key), Simulated(past))
    for scenario in task.plan.scenarios:
        at.scenario = scenario.name
        simulated = World(history, scenario.overlay, around).run()
        if simulated.problem:
            found.problems.setdefault(scenario.name, f"{task.key}: {simulated.problem}")
        found.changed[scenario.name] += simulated.is_changed
        _add(found, parts, (scenario.name, group, task.key), simulated)
    found.never_replenished += not history.is_ever_replenished
    found.off_us += history.off_us(around.end_us)
    found.period = longer(found.period, (history.start_us, around.end_us))


def longer(one: tuple[int, int] | None, other: tuple[int, int] | None) -> tuple[int, int] | None:
    """Return the shortest period that contains each given period; None if both are None."""
    found = [period for period in (one, other) if period is not None]
    if not found:
        return None
    return min(start_us for start_us, _ in found), max(end_us for _, end_us in found)


def _surroundings(task: _KeyTask, history: KeyHistory) -> Surroundings:
    arrived = KeyArrivals()
    for record, _admission in task.records():
        if record.table in TABLES:
            arrived.note(record)
    plan = task.plan
    end_us = history.events[-1].at_us if history.events else history.start_us
    if history.is_live:
        end_us = max(end_us, plan.newest_commit_us)
    return Surroundings(plan.assumptions, plan.experience, arrived.is_served_by_transfers(), end_us)


def _add(
    found: UnitSimulated, parts: PartWriter, at: tuple[str, Group, str], simulated: Simulated
) -> None:
    scenario, group, key = at
    outcome = simulated.outcome
    found.groups.setdefault((scenario, group), Outcome()).add(outcome)
    found.digest = add(found.digest, _hash(scenario, key, simulated))
    parts.write(scenario, key, group, simulated)


def _hash(scenario: str, key: str, simulated: Simulated) -> int:
    sums = [getattr(simulated.outcome, name) for name in SUMS]
    orders = [astuple(order) for order in simulated.orders]
    return row_hash(scenario.encode(), key.encode(), repr((sums, orders)).encode())


def _by_key(unit: ArchiveUnit) -> dict[str, list[ArchiveRow]]:
    """Return the selected rows of each item as bytes; decoded rows would need much more memory."""
    found: dict[str, list[ArchiveRow]] = {}
    for row in _usable(selected_rows(unit, CurrentRecord())):
        key = (row.key or b"").decode("utf-8", "surrogateescape")
        if not is_heartbeat_key(key):
            found.setdefault(key, []).append(row)
    return found


def _usable(rows: Iterable[ArchiveRow]) -> Iterator[ArchiveRow]:
    """Yield the rows that are neither re-sent nor malformed."""
    return (row for row in rows if row.admission not in (MALFORMED, RESENT))


def _decoded(row: ArchiveRow) -> Record | None:
    try:
        return decode(row.key, row.value, offset=row.offset)
    except Malformed:
        return None

"""Topics with lost records: every process that needs them stops with an error."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from bench.simulation.batches import silent
from bench.simulation.checks import Violation
from bench.simulation.disk import Disk
from bench.simulation.faults import CUT, CUT_LEVELS, CUT_ROWS, KILL, LOSSES, REMAKE, WIPE, Fault
from bench.simulation.history import HOUR_US, Step
from bench.simulation.plan import Plan, draw_plan, with_loss
from bench.simulation.simulation import Simulation
from streams.engine.mismatch import LogMismatch

LATE = 10_000  # an event number beyond the end of every history
SALES = tuple(Step(number, "sale", 0, gap_us=HOUR_US // 4) for number in range(6))
SOONER = tuple(Step(number, "sale", 0) for number in range(6))


@pytest.fixture
def disk() -> Iterator[Disk]:
    with silent(), Disk() as disk:
        yield disk


def world_of(steps: tuple[Step, ...], *faults: Fault) -> Plan:
    return Plan(0, steps, faults, to=(0,), sizes=(2,), in_order=True)


def lost(disk: Disk, steps: tuple[Step, ...], *faults: Fault) -> Simulation:
    simulation = Simulation(world_of(steps, *faults), disk)
    simulation.run()
    return simulation


@pytest.mark.parametrize("part", [1, 2, 3, 4])
def test_a_recreated_source_topic_halts_a_starting_worker(disk: Disk, part: int) -> None:
    simulation = lost(disk, SALES, Fault(LATE, REMAKE, part=part))

    assert "was deleted and recreated" in str(simulation.halted[0])


def test_a_source_topic_recreated_before_any_output_halts_no_worker(disk: Disk) -> None:
    assert not lost(disk, SALES, Fault(1, REMAKE, part=4)).halted


def test_truncation_of_unread_source_records_halts_a_running_worker(disk: Disk) -> None:
    simulation = lost(disk, SALES, Fault(28, CUT, part=4))

    # The offset depends on the number of the simulation's steps before the first chunk.
    assert re.match(r"stock.events\[0\]@[24]: out of range", str(simulation.halted[0]))


def test_truncation_of_source_records_already_read_halts_no_running_worker(disk: Disk) -> None:
    assert not lost(disk, SALES, Fault(LATE, CUT, part=4)).halted


def test_truncation_of_records_in_the_dedupe_ring_halts_a_starting_worker(disk: Disk) -> None:
    simulation = lost(disk, SOONER, Fault(LATE, CUT, part=2), Fault(LATE, KILL))

    assert "begins at offset 3: it was truncated" in str(simulation.halted[0])


def test_truncated_window_rows_halt_a_starting_worker(disk: Disk) -> None:
    simulation = lost(disk, SALES, Fault(LATE, CUT_ROWS, part=2), Fault(LATE, KILL))

    assert "rows of S1|A: it was truncated" in str(simulation.halted[0])


def test_truncated_changelog_levels_halt_a_starting_worker(disk: Disk) -> None:
    simulation = lost(disk, SALES, Fault(LATE, CUT_LEVELS, part=1), Fault(LATE, KILL))

    assert "it was truncated" in str(simulation.halted[0])


def test_truncated_window_rows_halt_no_running_worker(disk: Disk) -> None:
    assert not lost(disk, SALES, Fault(LATE, CUT_ROWS, part=4)).halted


def test_the_simulation_reports_a_worker_that_halts_without_a_loss(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def halt(*_: object) -> None:
        problem = "another source"
        raise LogMismatch(problem)

    monkeypatch.setattr("streams.engine.restore.refuse_other_source", halt)

    with pytest.raises(Violation, match="no fault of this history may end a worker"):
        lost(disk, SALES, Fault(LATE, KILL))


def test_some_random_histories_contain_each_kind_of_loss() -> None:
    plans = [draw_plan(seed) for seed in range(200)]

    losing = [plan for plan in plans if any(fault.kind in LOSSES for fault in plan.faults)]

    assert {fault.kind for plan in losing for fault in plan.faults} >= set(LOSSES)
    assert 10 < len(losing) < 40


def test_with_loss_drops_changelog_wipes_after_the_loss() -> None:
    wipes = (Fault(5, WIPE), Fault(50, WIPE))
    plan = replace(world_of(SALES), faults=wipes)

    assert with_loss(plan, Fault(20, CUT, part=1)).faults == (wipes[0], Fault(20, CUT, part=1))


def test_the_simulation_reports_a_worker_that_folds_a_recreated_source_topic(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.engine.restore.refuse_other_source", lambda *_: None)

    with pytest.raises(Violation, match="into the state of another source"):
        lost(disk, SALES, Fault(LATE, REMAKE, part=4))

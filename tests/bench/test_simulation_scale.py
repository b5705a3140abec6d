"""Limits that a simulation lowers, and fetches that leave out records."""

from bench.simulation.batches import silent
from bench.simulation.disk import Disk
from bench.simulation.faults import LEAVE_OUT, Fault
from bench.simulation.history import Step
from bench.simulation.plan import Plan
from bench.simulation.simulation import Simulation
from cdc.contracts.topics import STOCK_EVENTS
from streams.engine import cold, loop
from streams.worker import snapshot_writer


def test_a_simulation_restores_the_limits_of_the_engine() -> None:
    before = loop.CLOCK_EVERY, snapshot_writer.STOP_S, cold.BLOCK_BYTES
    with Disk():
        assert loop.CLOCK_EVERY == 1

    assert before == (loop.CLOCK_EVERY, snapshot_writer.STOP_S, cold.BLOCK_BYTES)


def test_records_that_a_fetch_leaves_out_are_read_from_the_topic() -> None:
    steps = tuple(Step(number, "sale", 0) for number in range(6))

    def reads(*faults: Fault) -> int:
        with silent(), Disk() as disk:
            world = Simulation(Plan(0, steps, faults, to=(0,), sizes=(4,), in_order=True), disk)
            world.run()
        return sum(line.endswith(f"read {STOCK_EVENTS}") for line in world.trace)

    assert reads(Fault(8, LEAVE_OUT)) == reads() + 1

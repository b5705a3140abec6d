"""`inventory bench simulate`: its runs, its output, and planted errors that its checks find."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest
import structlog
from typing_extensions import override

from bench.simulation.batches import silent
from bench.simulation.checks import Violation, Visible, check_published, check_rules
from bench.simulation.disk import Disk
from bench.simulation.end_checks import EndChecks
from bench.simulation.faults import FLIP, KEEP, SLEEP, SLOW, STOP, Fault
from bench.simulation.history import Step
from bench.simulation.oracle import GENERATION, Truth, truth_of
from bench.simulation.plan import Plan, draw_plan
from bench.simulation.replays import Owed
from bench.simulation.shrink import violation_of
from bench.simulation.simulation import Simulation
from bench.simulation.source import sent_records
from cdc.contracts.progress import HEADER, Progress, encode_progress
from cdc.contracts.topics import (
    ON_HAND_CHANGELOG,
    REORDER_EVENTS,
    SALES_WINDOWS_CHANGELOG,
    STOCK_EVENTS,
    STOCK_LATE,
    STOCK_REJECTED,
)
from inventory.model.ids import InvKey
from streams.engine import restore as engine_restore
from streams.engine.loop import handle_chunk
from streams.engine.memory import MemoryBroker, Transaction
from streams.engine.mismatch import LogMismatch
from streams.engine.records import Fenced, LogRecord, SourceRecord
from streams.engine.restore import restore
from streams.engine.store import OwnedPartition

Sends = list[tuple[str, LogRecord]]
Change = Callable[[Sends], Sends]

# Steps that cause each kind of output: a need, a late sale, a rejected record.
STEPS = tuple(
    Step(number, kind, 0, units=units, refers=refers)
    for number, (kind, units, refers) in enumerate(
        [("range", 1, None), ("count", 2, None), ("sale", 3, None), ("old_sale", 9, None),
         ("zero", 1, None), ("resend", 1, 2), ("garbage", 1, None)]
    )
)  # fmt: skip


TELL = """
from bench.simulation.batches import silent
from bench.simulation.disk import Disk
from bench.simulation.plan import draw_plan
from bench.simulation.source import sent_records
from bench.simulation.simulation import Simulation
with silent(), Disk() as disk:
    for seed in range(25):
        simulation = Simulation(draw_plan(seed), disk)
        simulation.run()
        print(simulation.trace, sorted(simulation.broker.topics.items()))
"""


class Recording(MemoryBroker):
    """Broker that records the committed sends."""

    def __init__(self) -> None:
        super().__init__()
        self.committed: list[Sends] = []

    @override
    def commit(self, transaction: Transaction) -> None:
        super().commit(transaction)
        self.committed.append(transaction.sent)


def handled() -> tuple[list[Sends], Truth, OwnedPartition]:
    """Handle the steps in two chunks. Return the sends, the truth and the partition."""
    sent = sent_records(STEPS)
    broker = Recording()
    chunk = [SourceRecord(n, record.key, record.value) for n, record in enumerate(sent)]
    for record in sent:
        broker.produce(STOCK_EVENTS, 0, record.key, record.value)

    async def work() -> OwnedPartition:
        owned = await restore(0, GENERATION, broker)
        writer = broker.writer(0)
        await handle_chunk(chunk[:3], owned, writer)
        await handle_chunk(chunk[3:], owned, writer)
        return owned

    owned = asyncio.run(work())
    return broker.committed, truth_of(sent, 0), owned


def changed(topic: str, old: str, new: str) -> Change:
    """Return a change that replaces `old` by `new` in the records of one topic."""

    def change(sends: Sends) -> Sends:
        def one(record: LogRecord) -> LogRecord:
            return replace(record, value=(record.value or b"").decode().replace(old, new).encode())

        return [(t, one(record) if t == topic else record) for t, record in sends]

    return change


def keyed(topic: str, key: bytes) -> Change:
    """Return a change of the record keys of one topic."""
    return lambda sends: [(t, replace(r, key=key) if t == topic else r) for t, r in sends]


def twice(topic: str) -> Change:
    """Return a change that repeats each record of one topic."""
    return lambda sends: [one for one in sends for _ in range(1 + (one[0] == topic))]


def without(topic: str) -> Change:
    return lambda sends: [send for send in sends if send[0] != topic]


def with_progress(*progress: Progress) -> Change:
    """Return a change that replaces the progress on the last level, or removes it."""
    headers = tuple((HEADER, encode_progress(p)) for p in progress)
    return lambda sends: [
        (t, replace(record, headers=headers) if record.headers else record) for t, record in sends
    ]


@pytest.mark.parametrize(
    ("change", "promise"),
    [
        (lambda sends: sends[::-1], "refusals come before levels"),
        (changed(ON_HAND_CHANGELOG, '"resent":1', '"resent":2'), "level of S1|A@5 equals that of"),
        (changed(ON_HAND_CHANGELOG, '"generation":7', '"generation":6'), "has a state at"),
        (changed(ON_HAND_CHANGELOG, '"offset":5', '"offset":4'), "has a state at its position"),
        (changed(ON_HAND_CHANGELOG, '"inv_key":"S1|A"', '"inv_key":"S1|B"'), "level of S1|B"),
        (changed(SALES_WINDOWS_CHANGELOG, '"sold_units":3', '"sold_units":4'), "row S1|A@"),
        (without(SALES_WINDOWS_CHANGELOG), "has the window rows written with it"),
        (changed(STOCK_LATE, '"units":9', '"units":8'), "7-0-3 is late as in a single pass"),
        (changed(STOCK_LATE, '"inv_key":"S1|A"', '"inv_key":"S1|B"'), "7-0-3 is late as in a"),
        (
            changed(STOCK_LATE, '"commit_us":1', '"commit_us":2'),
            "7-0-3 is late as in a single pass",
        ),
        (changed(STOCK_REJECTED, '"stage":"fold"', '"stage":"decode"'), "7-0-4 is rejected"),
        (changed(STOCK_REJECTED, '"value_base64":"', '"value_base64":"AAAA'), "is rejected as in"),
        (changed(REORDER_EVENTS, '"supplier":"ACME"', '"supplier":null'), "supplier and cost"),
        (changed(REORDER_EVENTS, '"inv_key":"S1|A"', '"inv_key":"S1|B"'), "about S1|A"),
        (changed(REORDER_EVENTS, '"as_of_us":1', '"as_of_us":2'), "as-of time of a chunk"),
        (keyed(SALES_WINDOWS_CHANGELOG, b"S1|A"), "has its own record key"),
        (keyed(STOCK_LATE, b"S1|B"), "7-0-3 is late as in a single pass"),
        (keyed(STOCK_REJECTED, b"S1|B"), "is rejected as in a single pass"),
        (keyed(REORDER_EVENTS, b"S1|B"), "about S1|A"),
        (twice(STOCK_LATE), "each late or rejected record once"),
        (twice(STOCK_REJECTED), "each late or rejected record once"),
        (changed(STOCK_REJECTED, '"reason":"limit"', '"reason":"overflow"'), "7-0-4 is rejected"),
        (changed(STOCK_REJECTED, '"partition":0', '"partition":1'), "origins lie in partition 0"),
        (without(STOCK_LATE), "late and rejected records are visible"),
        (without(STOCK_REJECTED), "late and rejected records are visible"),
        (changed(REORDER_EVENTS, '"revision":', '"revision":1'), "equals that of a single pass"),
        (changed(REORDER_EVENTS, '"offset":2', '"offset":9'), "no older and no newer"),
        (without(REORDER_EVENTS), "last revision of R:S1|A:7-1 is visible"),
        (with_progress(), "progress is on the last level"),
        (with_progress(Progress(0, None, None, streamed=False)), "is that of S1|A"),
        (with_progress(Progress(7, 1, 2, streamed=True)), "marks of a single pass"),
        (lambda sends: sends[:-1] + sends, "refusals come before levels"),
    ],
)
def test_the_checks_detect_each_error_in_a_transaction(change: Change, promise: str) -> None:
    committed, truth, _ = handled()
    visible = Visible(0, truth)

    def read() -> None:
        for sends in committed:
            visible.committed(change(sends))

    with pytest.raises(Violation, match=promise.replace("|", r"\|")):
        read()


def test_the_checks_detect_an_older_level_after_a_newer_one() -> None:
    committed, truth, _ = handled()
    visible = Visible(0, truth)
    for sends in committed:
        visible.committed(sends)

    with pytest.raises(Violation, match="never go back"):
        visible.committed(committed[0])


def test_the_checks_detect_a_state_published_too_early_or_going_back() -> None:
    committed, truth, owned = handled()
    visible = Visible(0, truth)
    with pytest.raises(Violation, match="published after it is committed"):
        check_published(owned, visible, {})
    for sends in committed:
        visible.committed(sends)
    shown: dict[InvKey, int] = {}
    check_published(owned, visible, shown)
    key = next(iter(shown))

    with pytest.raises(Violation, match="never go back"):
        check_published(owned, visible, {key: 99})
    owned.published[key] = replace(owned.published[key], resent=7)
    with pytest.raises(Violation, match="equals that of a single pass"):
        check_published(owned, visible, {})


def test_the_checks_detect_a_wrong_as_of_time() -> None:
    committed, truth, owned = handled()
    visible = Visible(0, truth)
    for sends in committed:
        visible.committed(sends)
    owned.as_of_us = 1

    with pytest.raises(Violation, match="7 records are as of"):
        check_published(owned, visible, {})


def test_the_checks_detect_a_pass_with_a_wrong_verdict_or_stream_time() -> None:
    sent = list(sent_records(STEPS))
    truth = truth_of(sent, 0)
    check_rules(sent, truth)

    with pytest.raises(Violation, match="record 2 is rejected:limit"):
        check_rules([*sent[:2], sent[2]._replace(verdict="rejected:limit")], truth)
    with pytest.raises(Violation, match="stream time of S1"):
        check_rules([sent[0]._replace(clock_us=1)], truth)
    with pytest.raises(Violation, match="decides nothing"):
        check_rules([*sent[:1], sent[1]._replace(clock_us=None, verdict=None)], truth)


def test_the_checks_name_a_key_whose_outputs_were_not_sent_again() -> None:
    with pytest.raises(Violation, match="S1"):
        Owed({b"S1|A"}, set(), set()).check([])


def test_the_same_seed_runs_the_same_way() -> None:
    def trace(seed: int) -> list[str]:
        with silent(), Disk() as disk:
            simulation = Simulation(draw_plan(seed), disk)
            simulation.run()
            return simulation.trace

    before = structlog.get_config()

    assert trace(12) == trace(12)
    assert trace(12) != trace(13)
    assert structlog.get_config() == before


def test_a_seed_runs_the_same_way_in_every_process() -> None:
    def told(hash_seed: int) -> str:
        done = subprocess.run(  # noqa: S603 -- our own program
            [sys.executable, "-c", TELL],
            env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    assert told(1) == told(2)


def test_the_checks_detect_an_unused_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refused(*_: object) -> str:
        return "no reason"

    monkeypatch.setattr(engine_restore, "_contradiction", refused)
    plan = Plan(0, STEPS, (), to=(0,), sizes=(2,), keeps=1.0)

    with (
        silent(),
        Disk() as disk,
        pytest.raises(Violation, match="behind a snapshot of 0 are read"),
    ):
        Simulation(plan, disk).run()


def test_the_checks_detect_a_worker_fenced_without_another_worker() -> None:
    plan = Plan(0, STEPS, (), to=(0,), sizes=(2,))

    def fail(simulation: Simulation) -> None:
        while simulation._next():
            if simulation.step == 30:
                simulation.process_ended(simulation.processes[0], Fenced("partition 0"))
            simulation.step += 1

    with silent(), Disk() as disk:
        simulation = Simulation(plan, disk)
        simulation.start()
        with pytest.raises(Violation, match="a worker is fenced by another one"):
            fail(simulation)


def test_a_rebalance_waits_for_chunks_of_a_partition_that_becomes_ready() -> None:
    steps = (
        Step(0, "price_rule", 0, units=3, gap_us=360_000_000_000, skew_ms=-30_000),
        Step(1, "count", 0, units=7, gap_us=-3_600_000_000),
        Step(2, "price", 0, units=6, gap_us=700_000_000, skew_ms=45_000),
        Step(3, "snapshot", 1, units=3, gap_us=1_000_000),
        Step(4, "price_rule", 0, key=1, units=3, gap_us=-100_000_000),
        Step(7, "resend", 0, units=1, gap_us=360_000_000_000, refers=4),
        Step(8, "sale", 1, units=3, gap_us=1_000_000, skew_ms=45_000),
    )
    faults = (
        Fault(24, FLIP, quarter=4),
        Fault(35, SLEEP, to=(1, 1), quarter=1, steps=80),
        Fault(55, SLEEP, slot=1, to=(0, 0), quarter=1, steps=20),
    )
    with silent(), Disk() as disk:
        Simulation(Plan(5649, steps, faults, to=(0, 0), sizes=(3, 4, 3, 3)), disk).run()


def test_a_simulated_stop_that_waits_for_a_lock_reaches_its_time_limit() -> None:
    steps = (
        Step(0, "count", 0, gap_us=0),
        Step(2, "count", 0, key=1, units=5, gap_us=-100_000_000, skew_ms=-30_000),
        Step(3, "garbage", 0, units=2, gap_us=360_000_000_000),
        Step(4, "resend", 0, units=8, gap_us=130_000_000, skew_ms=-30_000, refers=0),
        Step(5, "old_sale", 0, units=5, gap_us=30_000_000),
    )
    faults = (Fault(116, KEEP, steps=5), Fault(146, STOP, to=(0, 0)))
    with silent(), Disk() as disk:
        simulation = Simulation(Plan(2066, steps, faults, to=(0, 0), sizes=(1, 2, 1, 4)), disk)
        simulation.run()

    assert any(line.endswith("reach a time limit") for line in simulation.trace)


def test_any_error_in_a_simulated_history_fails_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*_: object) -> None:
        problem = "the changelog lost its last records"
        raise LogMismatch(problem)

    monkeypatch.setattr(EndChecks, "check_restore", lost)

    with silent(), Disk() as disk:
        violation, trace = violation_of(Plan(0, STEPS, (), to=(0,), sizes=(2,)), disk)

    assert "the changelog lost its last records" in str(violation)
    assert trace


def test_chunks_are_folded_while_a_slow_disk_writes_a_snapshot() -> None:
    steps = tuple(Step(n, "count", 0, units=n, gap_us=1_000_000) for n in range(8))
    faults = (Fault(40, KEEP, steps=300), Fault(60, SLOW, steps=10))
    with silent(), Disk() as disk:
        simulation = Simulation(Plan(0, steps, faults, to=(0,), sizes=(1,)), disk)
        simulation.run()
        snapshot = disk.load(0, 0)

    rest = [line.endswith("write snapshot") for line in simulation.trace].index(True)
    assert snapshot is not None
    assert snapshot.progress.next_offset < len(steps)
    assert any(line.endswith("committed") for line in simulation.trace[41:rest])


def test_a_stopped_worker_leaves_a_snapshot_of_all_handled_records() -> None:
    steps = STEPS[:3]
    stop = Fault(1_000, STOP, to=(1,))  # an event number beyond the end of the history
    with silent(), Disk() as disk:
        Simulation(Plan(0, steps, (stop,), to=(0,), sizes=(4,)), disk).run()
        snapshot = disk.load(0, 0)

    assert snapshot is not None
    assert snapshot.progress.next_offset == len(steps)

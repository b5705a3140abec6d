"""The run of one plan: a broker, a group, worker processes, and a scheduler of single effects.

Every process waits before each of its effects. The scheduler picks the next effect, lets records
arrive, and injects faults in between. When nothing is left to do, the last records arrive and all
visible state is compared with the single pass.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Final

from bench.simulation import faults
from bench.simulation.checks import Violation, Visible, check_rules, violated
from bench.simulation.disk import Disk
from bench.simulation.end_checks import EndChecks
from bench.simulation.event_loop import StepLoop
from bench.simulation.faults import QUARTERS, SLOTS, Fault
from bench.simulation.history import Step
from bench.simulation.losses import WatchedBroker
from bench.simulation.oracle import truth_of
from bench.simulation.plan import Plan
from bench.simulation.process import (
    COMMIT,
    COMMITTED,
    FETCH,
    FOLLOW,
    REST,
    BrokerFailed,
    Process,
    Stopped,
)
from bench.simulation.scale import choose_sizes
from bench.simulation.source import SentRecord, sent_records
from cdc.contracts.topics import ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG, STOCK_EVENTS
from streams.engine.memory import MemoryBroker
from streams.engine.mismatch import LogMismatch
from streams.engine.records import Fenced
from streams.engine.restore import CHANGELOGS

MOST_STEPS: Final = 5_000
_BEATS_FROM: Final = 1_000  # first number of the steps that close a history


@dataclass(slots=True)
class Waiting:
    """A process that waits before an effect."""

    process: Process
    effect: str
    turn: asyncio.Future[None]

    def is_due(self, step: int) -> bool:
        """Return True if the effect may happen now."""
        if max(self.process.asleep_until, self.process.held_until.get(self.effect, 0)) > step:
            return False
        if self.effect == FETCH:
            return self.process.has_work
        return self.effect != FOLLOW or self.process.is_behind


class Simulation:
    """One run of a plan; `trace` records the events for the analysis of a failure.

    `step` counts the events so far, for example effects and arrivals of records.
    """

    def __init__(self, plan: Plan, disk: Disk) -> None:
        beats = (Step(_BEATS_FROM + p, "beat", p) for p in range(plan.partitions))
        sent = sent_records((*plan.steps, *beats))
        self._to_come = list(reversed(sent))
        self._closing = plan.partitions
        self._faults = list(reversed(plan.faults))
        self._random = Random(f"{plan.seed}:schedule")  # noqa: S311 -- no secret
        self._sizes = plan.sizes
        self._assigned_to = plan.to
        self._waiting: list[Waiting] = []
        self._violation: Violation | None = None
        self.step = 0
        self._keeps = plan.keeps
        self._in_order = plan.in_order
        self._timer_is_due = True
        self._changelogs_are_complete = True
        self.halted: dict[int, LogMismatch] = {}
        self.loop = StepLoop()
        self.disk = disk
        disk.clear()
        choose_sizes(large=plan.large_sizes)
        self._sent = sent
        self.truths = [truth_of(sent, p) for p in range(plan.partitions)]
        self.visible = [Visible(p, truth) for p, truth in enumerate(self.truths)]
        self._watched = WatchedBroker(self.visible)
        self.broker: MemoryBroker = self._watched
        self.group_offsets = [0] * plan.partitions
        self.group_round = 0
        self.trace: list[str] = []
        self.processes: list[Process] = []
        for partition, truth in enumerate(self.truths):
            check_rules([s for s in sent if s.partition == partition], truth)

    def run(self) -> None:
        """Run the history, then check the end state.

        Raises:
            Violation: a guarantee does not hold.
        """
        self.start()
        while self._next():
            self.step += 1
            if self.step > MOST_STEPS:
                violated("a run ends", f"not after {MOST_STEPS} steps")
        self._check_end()

    def start(self) -> None:
        """Start a worker in every slot."""
        self.processes = [Process(self, slot) for slot in range(SLOTS)]
        for process in self.processes:
            process.start()

    # The interface to processes.

    async def reach(self, process: Process, effect: str) -> None:
        """Wait until the scheduler selects the effect. For an ended process it never does."""
        turn = self.loop.create_future()
        if self._is_current(process):
            self._waiting.append(Waiting(process, effect, turn))
        await turn

    def partitions_of(self, slot: int) -> list[int]:
        """Return the partitions that the group assigns to the worker in that slot."""
        return [p for p in range(len(self.truths)) if self._assigned_to[p] == slot]

    def chunk_size(self) -> int:
        """Return the number of records of the next fetch."""
        return self._random.choice(self._sizes)

    def is_snapshot_due(self) -> bool:
        """Return True if the timer of snapshots is due."""
        return self._random.random() < self._keeps

    def process_ended(self, process: Process, error: BaseException) -> None:
        """Start the process again, or halt it if it needs records that a fault has lost.

        Record a violation if no fault of the history explains the error.
        """
        if isinstance(error, Violation):
            self._violation = self._violation or error
        elif (
            self._is_current(process) and isinstance(error, LogMismatch) and self._watched.has_lost
        ):
            self._halt(process, error)
            return
        elif self._is_current(process) and isinstance(error, Fenced) and not process.is_fenced:
            self._violation = Violation(f"a worker is fenced by another one: {error}")
        elif self._is_current(process) and not isinstance(error, Fenced | BrokerFailed | Stopped):
            problem = f"no fault of this history may end a worker: {error!r}"
            violation = Violation(problem)
            violation.__cause__ = error
            self._violation = self._violation or violation
        self._end(process, f"ended with the error {error!r}")

    # Events.

    def _next(self) -> bool:
        """Execute one event; return False if nothing is left."""
        self._run_tasks()
        while self._faults and self._faults[-1].at <= self.step:
            self._inject(self._faults.pop())
            self._run_tasks()
        due = [waiting for waiting in self._waiting if waiting.is_due(self.step)]
        records_left = len(self._to_come) > self._closing
        if records_left and (not due or self._in_order or self._random.random() < 1 / 6):
            self._produce()
            return True
        if due:
            self._run_effect(due[0 if self._in_order else int(self._random.random() * len(due))])
            return True
        # Half of the time, trigger the next fault while processes sleep. Afterwards they wake up in
        # another state of the group.
        if self._faults and not self._in_order and self._random.random() < 1 / 2:
            return self._force_next()
        return self._wake() or self._force_next()

    def _run_tasks(self) -> None:
        self.loop.run()
        if self._violation is not None:
            raise self._violation

    def _run_effect(self, waiting: Waiting) -> None:
        self.trace.append(f"{self.step}: worker {waiting.process.slot} {waiting.effect}")
        self._waiting.remove(waiting)
        waiting.turn.set_result(None)

    def _produce(self) -> None:
        record: SentRecord = self._to_come.pop()
        self.broker.produce(
            STOCK_EVENTS, record.partition, record.key, record.value, at_ms=record.at_ms
        )
        self.trace.append(f"{self.step}: step {record.number} arrives in [{record.partition}]")

    def _wake(self) -> bool:
        """Wake sleeping processes and end delays. Return False if there were none."""
        idle = [p for p in self.processes if p.is_held(self.step)]
        for process in idle:
            process.asleep_until = self.step
            process.held_until.clear()
        return bool(idle)

    def _force_next(self) -> bool:
        """Trigger the next fault. If none is left, send the last records, then run the timers.

        Return False if nothing is left to do.
        """
        if self._faults:
            self._inject(self._faults.pop())
            return True
        self._closing = 0
        if self._to_come:
            self._produce()
            return True
        if self._timer_is_due:
            self._timer_is_due = False
            self.trace.append(f"{self.step}: the timers of all workers are due")
            for process in self.processes:
                process.run(process.republish())
            return True
        return False

    def _inject(self, fault: Fault) -> None:
        self.trace.append(f"{self.step}: {fault}")
        process = self.processes[fault.slot]
        happen: dict[str, Callable[[], object]] = {
            faults.KILL: lambda: self._end(process, "killed"),
            faults.SLEEP: lambda: process.sleep(self.step + fault.steps),
            faults.LOSE_ACK: lambda: process.fail_at(COMMITTED),
            faults.REFUSE: lambda: process.fail_at(COMMIT),
            faults.COMPACT: self._compact,
            faults.REPUBLISH: lambda: process.run(process.republish()),
            faults.KEEP: lambda: self._write_snapshots(process, fault.steps),
            faults.SLOW: lambda: process.hold(COMMIT, self.step + fault.steps),
            faults.EXPIRE: self.broker.expire,
            faults.STOP: lambda: process.run(process.stop()),
            faults.WIPE: self._wipe,
            faults.CUT: lambda: self._watched.lose(STOCK_EVENTS, fault.part),
            faults.CUT_ROWS: lambda: self._watched.lose(SALES_WINDOWS_CHANGELOG, fault.part),
            faults.CUT_LEVELS: lambda: self._watched.lose(ON_HAND_CHANGELOG, fault.part),
            faults.REMAKE: lambda: self._remake(fault.part),
        }
        happen |= dict.fromkeys(faults.FETCHES, lambda: process.fail_next_fetch(fault.kind))
        happen.get(fault.kind, lambda: self._damage(fault.kind, process))()
        if fault.to:
            self._assigned_to = fault.to
            self.group_round += 1
        if fault.quarter is not None:
            for partition in range(len(self.truths)):
                end = self.broker.next_offset((STOCK_EVENTS, partition))
                self.group_offsets[partition] = end * fault.quarter // QUARTERS

    def _write_snapshots(self, process: Process, steps: int) -> None:
        process.hold(REST, self.step + steps)
        process.run(process.write_snapshots())

    def _compact(self) -> None:
        self._changelogs_are_complete = False
        for topic in CHANGELOGS:
            for partition in range(len(self.truths)):
                self.broker.compact(topic, partition)

    def _wipe(self) -> None:
        """Delete the changelogs, and kill all processes.

        A running process would not write all records again.
        """
        self._changelogs_are_complete = False
        for topic in CHANGELOGS:
            for partition in range(len(self.truths)):
                self.broker.delete(topic, partition)
        for visible in self.visible:
            visible.forget_changelogs()
        for process in self.processes:
            self._end(process, "killed")

    def _remake(self, halves: int) -> None:
        """Recreate the source topic, and then kill all processes.

        A running process would notice the new topic's id only at its next timed check.
        """
        if self._watched.remake_source(halves):
            for process in self.processes:
                self._end(process, "killed")

    def _damage(self, kind: str, process: Process) -> None:
        if kind == faults.SPOOF:
            for partition in range(len(self.truths)):
                self._spoof(process.slot, partition)
        else:
            self.disk.damage(process.slot, kind)
        self._end(process, "killed")

    def _spoof(self, slot: int, partition: int) -> None:
        handled = self.visible[partition].progress
        sent = [record for record in self._sent if record.partition == partition][:handled]
        ends = {topic: self.broker.next_offset((topic, partition)) for topic in CHANGELOGS}
        ids = {topic: self.broker.topic_id(topic) for topic in CHANGELOGS}
        self.disk.spoof(slot, partition, sent, ends, ids)

    def _is_current(self, process: Process) -> bool:
        return self.processes[process.slot] is process

    def _end(self, process: Process, reason: str) -> None:
        """End the process; start a new one in its slot."""
        if not self._is_current(process):
            return
        self._remove(process, reason)
        self.halted.pop(process.slot, None)
        self.processes[process.slot].start()

    def _halt(self, process: Process, error: LogMismatch) -> None:
        """End the process without a restart, because its error is permanent."""
        self._remove(process, f"halts: {error}")
        self.halted[process.slot] = error

    def _remove(self, process: Process, reason: str) -> None:
        self.trace.append(f"{self.step}: worker {process.slot} {reason}")
        self._waiting = [w for w in self._waiting if w.process is not process]
        self.processes[process.slot] = Process(self, process.slot)

    # The end.

    def _check_end(self) -> None:
        left = EndChecks(self.broker, self.disk, self.loop)
        for partition, truth in enumerate(self.truths):
            if self._assigned_to[partition] in self.halted:
                continue
            end = len(truth.verdicts)
            self.visible[partition].check_complete(end)
            if self.visible[partition].progress != end:
                violated(f"partition {partition} is handled up to {end}", self.visible[partition])
            owner = self.processes[self._assigned_to[partition]]
            owned = owner.ownership.ready.get(partition)
            if owned is None or dict(owned.published.items()) != truth.partition.states:
                violated(
                    f"partition {partition} shows the states of a single pass",
                    owned and owned.published,
                )
            if self._watched.has_lost:
                with suppress(LogMismatch):
                    left.check_restore(partition, truth)
                continue
            if self._changelogs_are_complete:
                left.check_use(partition)
            left.check_restore(partition, truth)

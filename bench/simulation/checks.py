"""Checks of the guarantees in docs/delivery.md and docs/domain.md 4, at each visible state.

Committed transactions are visible, and so are states that a worker publishes to queries. Each state
is compared with the result of a single pass (`Truth`) at the position that the state contains. So a
defect is reported at the step where it happens.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NoReturn

import orjson

from bench.simulation.oracle import GENERATION, Truth, newest
from bench.simulation.source import APPLIED, SentRecord
from cdc.contracts.decisions import (
    DecisionContext,
    PriceEvent,
    ReorderEvent,
    decode_price,
    decode_reorder,
)
from cdc.contracts.progress import Progress, beat_in, progress_in
from cdc.contracts.rejects import Origin, decode_late, decode_rejection
from cdc.contracts.retained import retained_in
from cdc.contracts.state import decode_window, encode_level, window_key
from cdc.contracts.topics import (
    ON_HAND_CHANGELOG,
    PRICE_EVENTS,
    REORDER_EVENTS,
    SALES_WINDOWS_CHANGELOG,
    STOCK_LATE,
    STOCK_REJECTED,
)
from inventory.model.ids import InvKey, Position
from inventory.model.state import KeyState, WindowRow
from inventory.revision import LOGIC_REVISION
from streams.engine.records import LogRecord
from streams.engine.store import OwnedPartition

_STAGES: Final = {
    STOCK_REJECTED: 0,
    STOCK_LATE: 0,
    ON_HAND_CHANGELOG: 1,
    SALES_WINDOWS_CHANGELOG: 2,
    REORDER_EVENTS: 2,
    PRICE_EVENTS: 2,
}

_PARTITION: Final = InvKey("")  # pseudo key for the partition's published offset in `shown`

Sends = Sequence[tuple[str, LogRecord]]


class Violation(Exception):
    """A guarantee does not hold. The message has the guarantee and the observed value."""


def violated(promise: str, seen: object) -> NoReturn:
    """Raise `Violation` with the guarantee and the observed value."""
    problem = f"violated guarantee: {promise}; seen: {seen}"
    raise Violation(problem)


def check_rules(sent: Sequence[SentRecord], truth: Truth) -> None:
    """Check the single pass against the definitions of idempotence and of stream time.

    Raises:
        Violation: a verdict or a stream time differs from the definition, or a decision follows
        from a record that can't move the stream time.
    """
    clocks: dict[InvKey, int | None] = {}
    for offset, record in enumerate(sent):
        verdict = truth.verdicts[offset]
        if record.verdict not in (None, verdict):
            violated(f"record {offset} is {record.verdict}", verdict)
        key = InvKey((record.key or b"").decode(errors="replace"))
        state = truth.states.get(key, {}).get(offset)
        if state is None:
            continue
        before_us = clocks.get(key)
        wanted_us = before_us
        if verdict == APPLIED and record.clock_us is not None:
            wanted_us = record.clock_us if before_us is None else max(before_us, record.clock_us)
        elif any(offset in found for found in truth.outputs.values()):
            violated(f"record {offset} decides nothing", verdict)
        if state.stream_time_us != wanted_us:
            violated(f"stream time of {key}@{offset} is {wanted_us}", state.stream_time_us)
        clocks[key] = wanted_us


def _check_order(sends: Sends) -> None:
    """Check the order of a transaction's records, and that no late or rejected one comes twice."""
    stages = [_STAGES[topic] for topic, _ in sends]
    if stages != sorted(stages):
        violated(
            "refusals come before levels, and levels before rows and decisions",
            [topic for topic, _ in sends],
        )
    refused = [(topic, r.value) for topic, r in sends if topic in (STOCK_LATE, STOCK_REJECTED)]
    if len(refused) > len(set(refused)):
        violated("a chunk has each late or rejected record once", refused)


@dataclass(slots=True)
class Visible:
    """The state of one partition as a reader of committed records sees it.

    Each committed record is checked against `truth`.

    `positions` has the position of each key's newest level. `decided` has the highest revision of
    each decision. `late` and `rejected` have the positions of late and rejected records. All these
    positions are offsets in the source log.
    """

    number: int
    truth: Truth
    positions: dict[InvKey, int] = field(default_factory=dict)
    rows: dict[tuple[InvKey, int], WindowRow] = field(default_factory=dict)
    late: set[int] = field(default_factory=set)
    rejected: set[int] = field(default_factory=set)
    decided: dict[str, int] = field(default_factory=dict)
    progress: int = 0

    def forget_changelogs(self) -> None:
        """Forget both changelogs after their deletion, but no record of other topics."""
        self.positions.clear()
        self.rows.clear()
        self.progress = 0

    def committed(self, sends: Sends) -> None:
        """Apply the records of one transaction, in the order in which they were sent.

        Raises:
            Violation: one record, or all records together, differ from the single pass.
        """
        _check_order(sends)
        carried: dict[InvKey, set[int]] = {}
        written: dict[InvKey, set[int]] = {}
        progress = None
        for topic, record in sends:
            if progress is not None and topic == ON_HAND_CHANGELOG:
                violated("progress is on the last level of its chunk", record.key)
            if topic == ON_HAND_CHANGELOG:
                self._level(record, carried)
                progress = progress_in(record.headers)
            else:
                self._other(topic, record, written)
        for key, starts in carried.items():
            self._check_rows(key, starts, written.get(key, set()))
        if carried and progress is None:
            violated("progress is on the last level of its chunk", None)
        if progress is not None:
            self._check_progress(progress)

    def _level(self, record: LogRecord, carried: dict[InvKey, set[int]]) -> None:
        content = record.value or b""
        document = orjson.loads(content)
        key = InvKey(document["inv_key"])
        if (record.key or b"").decode() != key:
            violated(f"level of {key}", record.key)
        state = self._true_state(key, Position(**document["position"]))
        starts = {row["start_us"] for row in document["rows"]}
        if encode_level(state, starts) != content:
            violated(
                f"level of {key}@{state.position.offset} equals that of a single pass",
                content.decode(),
            )
        retained = retained_in(record.headers)
        if retained != (len(state.windows) if starts < state.windows.keys() else None):
            violated(f"level of {key} has the number of its rows in other records", retained)
        at, before = state.position.offset, self.positions.get(key, -1)
        if at < before:
            violated(f"positions of {key} never go back", at)
        beat = self.truth.beats.get(at) if at > before else None  # no heartbeat in a re-send
        if beat_in(record.headers) != beat:
            violated(f"level of {key}@{at} has the heartbeat {beat}", beat_in(record.headers))
        self.positions[key] = at
        carried[key] = starts

    def _true_state(self, key: InvKey, position: Position) -> KeyState:
        state = self.truth.states.get(key, {}).get(position.offset)
        if state is None or position.generation != GENERATION:
            violated(f"{key} has a state at its position", position)
        return state

    def _other(self, topic: str, record: LogRecord, written: dict[InvKey, set[int]]) -> None:
        if topic == SALES_WINDOWS_CHANGELOG:
            self._window(record, written)
        elif topic in (STOCK_LATE, STOCK_REJECTED):
            self._refusal(topic, record)
        else:
            decoder = decode_reorder if topic == REORDER_EVENTS else decode_price
            self._decision(record.key, decoder(record.value or b""))

    def _window(self, record: LogRecord, written: dict[InvKey, set[int]]) -> None:
        key, row, position = decode_window(record.value or b"")
        if record.key != window_key(key, row.start_us):
            violated(f"row {key}@{row.start_us} has its own record key", record.key)
        if self._true_state(key, position).windows.get(row.start_us) != row:
            violated(f"row {key}@{row.start_us} equals that of a single pass", row)
        self.rows[key, row.start_us] = row
        if position.offset == self.positions.get(key):
            written.setdefault(key, set()).add(row.start_us)

    def _refusal(self, topic: str, record: LogRecord) -> None:
        content = record.value or b""
        if topic == STOCK_LATE:
            late = decode_late(content)
            at = self._offset(late.origin)
            if self.truth.late.get(at) != late or record.key != late.inv_key.encode():
                violated(f"{late.origin.id} is late as in a single pass", (record.key, late))
            self.late.add(at)
            return
        rejection = decode_rejection(content)
        at = self._offset(rejection.origin)
        if self.truth.rejected.get(at) != rejection or record.key != rejection.key:
            violated(
                f"{rejection.origin.id} is rejected as in a single pass", (record.key, rejection)
            )
        self.rejected.add(at)

    def _decision(self, record_key: bytes | None, event: ReorderEvent | PriceEvent) -> None:
        output = event.output
        history = self.truth.outputs.get(output.id, {})
        decided_at = [at for at, known in history.items() if known == output]
        if not decided_at:
            violated(
                f"decision {output.id} revision {output.revision} equals that of a single pass",
                output,
            )
        key, at = self.truth.keys[output.id], self._offset(event.at.origin)
        if not decided_at[0] <= at <= self.positions.get(key, -1):
            violated(f"{output.id} is no older and no newer than its level", at)
        self._check_event(record_key, event, key, at)
        self.decided[output.id] = max(output.revision, self.decided.get(output.id, 0))

    def _check_event(
        self, record_key: bytes | None, event: ReorderEvent | PriceEvent, key: InvKey, at: int
    ) -> None:
        """Check the event of a decision that follows from the state of `key` at offset `at`."""
        origin = event.at.origin
        policy = self._true_state(key, Position(origin.generation, at)).policy
        wanted = DecisionContext(key, origin, event.at.as_of_us, LOGIC_REVISION)
        if event.at != wanted or record_key != key.encode():
            violated(f"{event.output.id} is a decision about {key}", (record_key, event.at))
        if event.at.as_of_us not in {mark[0] for mark in self.truth.marks[at + 1 :]}:
            violated(f"{event.output.id} has the as-of time of a chunk", event.at.as_of_us)
        if isinstance(event, ReorderEvent):
            terms = (policy.supplier, policy.cost_minor) if policy else (None, 0)
            if (event.supplier, event.cost_minor) != terms:
                violated(f"{event.output.id} has supplier and cost {terms}", event)

    def _offset(self, origin: Origin) -> int:
        if (origin.generation, origin.partition) != (GENERATION, self.number):
            violated(f"origins lie in partition {self.number}", origin.id)
        return origin.offset

    def _check_rows(self, key: InvKey, carried: set[int], written: set[int]) -> None:
        if carried != written:
            violated(
                f"level of {key} has the window rows written with it, of {sorted(written)}",
                sorted(carried),
            )

    def _check_progress(self, progress: Progress) -> None:
        """Check the progress in a level's header.

        Progress is an offset. Exactly the results of the records below this offset must be visible.
        """
        at = progress.next_offset
        if at < self.progress:
            violated("progress never goes back", at)
        self.progress = at
        ring_from = progress.ring_from
        marks = (progress.newest_commit_us, progress.highest_lsn, progress.streamed, ring_from)
        if at >= len(self.truth.marks) or marks != self.truth.marks[at]:
            violated(f"progress {at} has the marks of a single pass", marks)
        self.check_complete(at)

    def check_complete(self, before: int) -> None:
        """Check that exactly the results of one pass over offsets below `before` are visible."""
        truth = self.truth
        for key, states in truth.states.items():
            if self.positions.get(key, -1) != newest(states, before):
                violated(f"progress {before} is that of {key}", self.positions.get(key))
        for (key, start_us), rows in truth.rows.items():
            at = newest(rows, before)
            if at >= 0 and self.rows.get((key, start_us)) != rows[at]:
                violated(f"row {key}@{start_us} is visible", self.rows.get((key, start_us)))
        for identifier, history in truth.outputs.items():
            at = newest(history, before)
            if at >= 0 and self.decided.get(identifier, 0) < history[at].revision:
                violated(f"last revision of {identifier} is visible", self.decided.get(identifier))
        self._check_refusals(truth.late, self.late, before)
        self._check_refusals(truth.rejected, self.rejected, before)

    def _check_refusals(self, true: Mapping[int, object], seen: set[int], before: int) -> None:
        missing = [at for at in true if at < before and at not in seen]
        if missing:
            violated("late and rejected records are visible before later progress", missing)


def check_published(owned: OwnedPartition, visible: Visible, shown: dict[InvKey, int]) -> None:
    """Check that a worker publishes only committed state and that no key's offset decreases.

    To publish is to show a state to queries. `shown` maps each key to its last published offset.

    Raises:
        Violation: a state is uncommitted, differs from the single pass or is older than before, or
            a key is missing.
    """
    for key, state in owned.published.items():
        at = state.position.offset
        if at == shown.get(key):
            continue
        if at > visible.positions.get(key, -1):
            violated(f"{key} is published after it is committed", state.position)
        if at < shown.get(key, -1):
            violated(f"published positions of {key} never go back", state.position)
        if state != visible.truth.states.get(key, {}).get(at):
            violated(f"published state of {key}@{at} equals that of a single pass", state)
        shown[key] = at
    _check_as_of(owned, visible.truth, shown)


def _check_as_of(owned: OwnedPartition, truth: Truth, shown: dict[InvKey, int]) -> None:
    before = owned.published_offset
    if owned.as_of_us != truth.marks[before][0]:
        violated(f"{before} records are as of {truth.marks[before][0]}", owned.as_of_us)
    if shown.get(_PARTITION) == before:
        return
    shown[_PARTITION] = before
    for key, states in truth.states.items():
        if newest(states, before) > shown.get(key, -1):
            violated(f"all of {key} before {before} is published", shown.get(key))

"""The processing of one chunk of a partition: decode, fold, wait for the broker, publish.

All records of a worker pass this module, which uses neither Faust nor Kafka. Its rules:

- Between the first and the last change of state, the only await is `sleep(0)` between two records.
  Queries that run meanwhile read only `published`: the states as of the last acknowledged chunk.
- The state changes before the broker acknowledges the chunk. After any exception except
  `Gap`, the caller ends the process, because only a restore can return to the acknowledged state.
- A record that can't be decoded is rejected. If more than 1 % (the default limit) of the last 1,000
  records can't be decoded, the worker stops: the producer's schema has probably changed.
"""

import asyncio
import time
from collections.abc import Sequence
from typing import assert_never

from cdc.contracts.decode import Malformed, decode
from cdc.contracts.progress import beat_of
from cdc.contracts.rejects import Late, Origin, Rejection, truncated
from cdc.contracts.topics import STOCK_EVENTS
from inventory.errors import BEFORE_DEDUPE_HORIZON
from inventory.fold.partition import FoldResult
from inventory.fold.record import Applied, Refused, Replayed, Resent
from inventory.model.ids import InvKey
from inventory.model.outputs import LateSale
from inventory.model.record import Record
from inventory.model.state import KeyState
from inventory.revision import LOGIC_REVISION
from streams.engine.effects import Effects, Writer
from streams.engine.mismatch import OldRecords
from streams.engine.records import Broker, SourceRecord, Stage
from streams.engine.store import OwnedPartition

SLICE_S = 0.002  # longest work without yielding to queries, transactions and heartbeats
CLOCK_EVERY = 25  # records between two readings of the clock; decoding a state takes 0.2 ms
# The worker stops after this many consecutive records with the rejection `before_dedupe_horizon`.
REFUSED_IN_A_ROW = 1_000
LATE_REASON = "window_expired"


class Gap(Exception):
    """The chunk begins after the partition's next offset. Records in between were not delivered."""


class _TimeSlice:
    """A limit of `SLICE_S` for work on the event loop, after which other tasks run."""

    def __init__(self) -> None:
        self._steps = 0
        self._until_s = time.perf_counter() + SLICE_S

    async def step(self, records: int = 1) -> None:
        """Count `records`. Yield to the event loop if the time slice is over."""
        self._steps += records
        if self._steps < CLOCK_EVERY:
            return
        self._steps = 0
        if time.perf_counter() >= self._until_s:
            await asyncio.sleep(0)
            self._until_s = time.perf_counter() + SLICE_S


async def handle_chunk(
    chunk: Sequence[SourceRecord], owned: OwnedPartition, broker: Broker
) -> Effects:
    """Fold `chunk` into the partition and return once the broker has acknowledged its output.

    A record below `owned.next_offset` changes nothing. If an earlier process handled it, that
    process may have died before it had sent all output. So the present output of the record's key
    is sent again, once for all its records in a row. A chunk without output causes no transaction.

    Split a consumer's records with `records.unbroken` first: if an offset is missing within
    `chunk`, this function assumes that the topic has no record there.

    Raises:
        Gap: the chunk begins after `owned.next_offset`. Nothing was changed.
        SchemaBreak: more than the configured share of the last 1,000 records can't be decoded.
        BrokenInvariant: the log contradicts the state or the dedupe ring.
        Fenced: another worker owns the partition now.
    """
    if chunk and chunk[0].offset > owned.next_offset:
        problem = (
            f"{STOCK_EVENTS}[{owned.number}]: expected offset {owned.next_offset}, "
            f"got {chunk[0].offset}; nothing was folded"
        )
        raise Gap(problem)
    owned.in_work = True  # stays True if anything below fails; then no snapshot is taken
    async with owned.fold_lock:
        effects = await _fold(chunk, owned)
        stages = await _staged(effects, owned)
    if stages:
        owned.positions.update(await broker.acknowledged(owned.number, stages))
    if effects.rows:
        owned.changelog_next_offset = owned.next_offset
    owned.publish(effects.rows)
    owned.handled += len(chunk)
    if owned.sent_again and chunk and chunk[-1].offset >= owned.restored_offset:
        owned.sent_again.clear()
    owned.in_work = False
    return effects


async def _fold(chunk: Sequence[SourceRecord], owned: OwnedPartition) -> Effects:
    effects = Effects()
    time_slice = _TimeSlice()
    for source in chunk:
        await time_slice.step()
        _handle_record(source, owned, effects)
    return effects


async def _staged(effects: Effects, owned: OwnedPartition) -> list[Stage]:
    """Return the records to send for the chunk.

    Encoding takes as long as the fold, so this function yields to the event loop too.
    """
    writer = Writer(owned.partition.generation, owned.number)
    time_slice = _TimeSlice()
    changed = []
    for each in writer.changed_keys(effects, owned.partition.states):
        changed.append(each)
        await time_slice.step(1 + len(each.windows))
    return writer.staged(effects, changed, owned.progress())


async def republish_open(owned: OwnedPartition, broker: Broker) -> int:
    """Send the last revision of each open need and price proposal again. Return their number.

    Consumers ignore revisions that they have already. Decoding thousands of states takes longer
    than the time limit of a query, so this function yields to the event loop. The caller holds
    `owned.lock`, so no chunk is folded meanwhile.
    """
    effects = Effects()
    time_slice = _TimeSlice()
    for key in sorted(owned.open_keys):
        await time_slice.step()
        state = owned.published[key]
        for output in (state.episode.last_output, state.price_episode.last_output):
            if output is not None and output.status == "open":
                effects.add_decisions((output,), state)
    writer = Writer(owned.partition.generation, owned.number)
    sends = []
    for send in writer.decision_sends(effects.decisions.values(), owned.progress()):
        sends.append(send)
        await time_slice.step()
    if sends:
        await broker.acknowledged(owned.number, [sends])
    return len(sends)


def _handle_record(source: SourceRecord, owned: OwnedPartition, effects: Effects) -> None:
    offset = source.offset
    if offset < owned.next_offset:
        _resend(source, owned, effects)
        return
    owned.next_offset = offset + 1
    try:
        record = decode(source.key, source.value, offset=offset)
    except Malformed as refused:
        effects.undecodable += 1
        owned.undecodable.add(offset, refused.detail)
        effects.rejections.append(
            _rejection(source, owned, "malformed", "decode", refused.detail, None)
        )
        return
    before = owned.partition.states.get(InvKey(record.key))
    folded = owned.partition.apply(record)
    if before is not None and isinstance(folded, Applied) and folded.windows_dropped:
        effects.keep_expired(before, folded.windows_dropped)
    _collect(source, record, folded, owned, effects)


def _collect(
    source: SourceRecord,
    record: Record,
    folded: FoldResult,
    owned: OwnedPartition,
    effects: Effects,
) -> None:
    if isinstance(folded, Refused):
        _refuse(source, record, folded, owned, effects)
        return
    owned.refused_in_a_row = 0
    if folded.state is None:
        return
    match folded:
        case Replayed():
            _send_again(folded.state, owned, effects)
        case Resent():
            effects.resent += 1
            _changed(record, (), effects)
        case Applied():
            effects.applied += 1
            _changed(record, folded.windows_changed, effects)
            if folded.outputs:
                effects.add_decisions(folded.outputs, folded.state)
            if folded.late is not None:
                effects.lates.append(_late(record, folded.late, owned))
        case _:
            assert_never(folded)


def _changed(record: Record, rows: Sequence[int], effects: Effects) -> None:
    """Add to `effects` the record's key and its changed window rows. `rows` has their start times.

    If the record is a heartbeat, add the heartbeat too.
    """
    key = InvKey(record.key)
    effects.add_changed(key, rows)
    beat = beat_of(record)
    if beat is not None:
        effects.beats[key] = beat


def _refuse(
    source: SourceRecord, record: Record, refused: Refused, owned: OwnedPartition, effects: Effects
) -> None:
    effects.rejections.append(
        _rejection(source, owned, refused.reason, "fold", refused.detail, record.commit_us)
    )
    if refused.reason != BEFORE_DEDUPE_HORIZON:
        owned.refused_in_a_row = 0
        return
    owned.refused_in_a_row += 1
    if owned.refused_in_a_row >= REFUSED_IN_A_ROW:
        problem = (
            f"{STOCK_EVENTS}[{owned.number}]@{source.offset}: {owned.refused_in_a_row} records in "
            "a row are older than the dedupe ring, so the worker stops; compare the rows in "
            "Postgres with the log before you start it again"
        )
        raise OldRecords(problem)


def _resend(source: SourceRecord, owned: OwnedPartition, effects: Effects) -> None:
    """Add the present output of the record's key to `effects`, to be sent again.

    Do nothing if this process has handled the record (its offset is not below `restored_offset`).
    Otherwise an earlier process handled it, and may have died before consumers got all its output.
    """
    if source.offset >= owned.restored_offset or source.key is None:
        return
    key = InvKey(source.key.decode("utf-8", "surrogateescape"))
    state = owned.partition.states.get(key)
    if state is not None:
        _send_again(state, owned, effects)


def _send_again(state: KeyState, owned: OwnedPartition, effects: Effects) -> None:
    """Count a replayed record, and add the present output of its key if that was not yet added."""
    effects.replayed += 1
    if state.key not in owned.sent_again:
        owned.sent_again.add(state.key)
        effects.add_resend(state)


def _late(record: Record, late: LateSale, owned: OwnedPartition) -> Late:
    return Late(
        origin=Origin(owned.partition.generation, owned.number, record.offset),
        inv_key=record.key,
        units=late.units,
        amount_minor=late.amount_minor,
        reason=LATE_REASON,
        commit_us=record.commit_us,
    )


def _rejection(
    source: SourceRecord,
    owned: OwnedPartition,
    reason: str,
    stage: str,
    detail: str,
    commit_us: int | None,
) -> Rejection:
    content, detail = truncated(source.value, detail)
    return Rejection(
        origin=Origin(owned.partition.generation, owned.number, source.offset),
        topic=STOCK_EVENTS,
        reason=reason,
        stage=stage,
        detail=detail,
        key=source.key,
        value=content,
        logic_revision=LOGIC_REVISION,
        commit_us=commit_us,
    )

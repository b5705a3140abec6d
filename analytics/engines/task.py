"""The task of every engine: fold one unit of history with the workers' own fold.

This module contains no rule. It decodes each record and passes it to `Partition.apply_admitted` in
offset order, with the verdict that the archiver stored. A worker does the same with the verdict of
its ring.
"""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, assert_never

from analytics.archive.checked import checked_rows
from analytics.archive.rows import MALFORMED, ArchiveRow
from analytics.archive.storage import location_of
from analytics.digest import as_hex
from analytics.engines.code import refuse_other_code
from analytics.engines.commits import commit, commits_of, committed
from analytics.engines.failure import UnitFailed, failed
from analytics.engines.results import (
    BEATS,
    EXPIRED,
    HEARTBEATS,
    LATE,
    OUTPUTS,
    REJECTED,
    STATES,
    RunSink,
)
from analytics.engines.selection import keys_of_suppliers
from analytics.engines.start import start_of
from analytics.engines.unit import ArchiveUnit, ManifestRow
from cdc.contracts.decisions import (
    DecisionContext,
    PriceEvent,
    ReorderEvent,
    encode_price,
    encode_reorder,
)
from cdc.contracts.decode import Malformed, decode
from cdc.contracts.progress import beat_of, encode_beat
from cdc.contracts.rejects import Late, Origin, Rejection, encode_late, encode_rejection, truncated
from cdc.contracts.state import encode_state, encode_window
from cdc.contracts.topics import STOCK_EVENTS
from inventory.fold.partition import Partition
from inventory.fold.record import Applied, FoldResult, Refused, Replayed, Resent
from inventory.log.dedupe import Admission, Ring
from inventory.log.validation import is_heartbeat_key
from inventory.model.ids import InvKey
from inventory.model.outputs import LateSale, Output, ReorderOutput
from inventory.model.record import Record
from inventory.model.state import KeyState
from inventory.revision import LOGIC_REVISION

_ADMISSIONS: Final = {each.name.lower(): each for each in Admission}


@dataclass(slots=True)
class CurrentRecord:
    """The current stage and record of a task, for error messages."""

    stage: str = "read"
    row: ArchiveRow | None = None


def attempt(unit: ArchiveUnit, results: Path) -> ManifestRow | UnitFailed:
    """Recompute and commit one unit, unless another attempt has committed it.

    Return the committed row. Return an error as `UnitFailed` and don't raise it, so that no engine
    retries the unit or prints a trace.
    """
    at = CurrentRecord("start")
    try:
        refuse_other_code(unit.code)
        known = committed(unit, commits_of(results))
        if known is not None:
            return known
        computed = recompute(unit, results, at)
        at.stage, at.row = "commit", None
        return commit(computed, commits_of(results))
    except Exception as error:  # noqa: BLE001 -- the edge of a pool process or executor
        row = at.row
        return failed(
            unit.name,
            at.stage,
            error,
            position="" if row is None else f"{STOCK_EVENTS}[{unit.partition}]@{row.offset}",
            key=None if row is None else row.key,
        )


def recompute(unit: ArchiveUnit, results: Path, at: CurrentRecord | None = None) -> ManifestRow:
    """Fold the records of `unit`, one bucket of one partition, in offset order.

    Return the unit's manifest row with counts and digests.
    """
    sink = RunSink(results, unit.name)
    try:
        with _no_collection():
            return _recomputed(unit, sink, at or CurrentRecord())
    except BaseException:
        sink.abandon()
        raise


@contextmanager
def _no_collection() -> Iterator[None]:
    """Switch off Python's garbage collector of reference cycles: the fold's values have no cycles.

    The collector would scan the states of all keys again and again.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _recomputed(unit: ArchiveUnit, sink: RunSink, at: CurrentRecord) -> ManifestRow:
    started = time.monotonic_ns()
    at.stage = "read the base"
    partition, beats = start_of(unit)
    records = 0
    for row in selected_rows(unit, at):
        _apply(unit, partition, row, sink, beats, at)
        records += 1
    at.stage, at.row = "write states", None
    open_reorders = _write_states(partition, sink)
    for key, (offset, beat) in sorted(beats.items()):
        sink.files[BEATS].write(key, offset, beat)
    sink.close()
    return _manifest_row(unit, sink, partition.ring, records, open_reorders, started)


def selected_rows(unit: ArchiveUnit, at: CurrentRecord) -> Iterator[ArchiveRow]:
    """Yield the unit's records of selected keys in offset order."""
    chosen = unit.selection
    if chosen.is_all:
        yield from all_rows(unit, at)
    elif chosen.suppliers:
        keys = keys_of_suppliers(chosen, all_rows(unit, at))
        yield from (row for row in all_rows(unit, at) if row.key in keys)
    else:
        yield from (row for row in all_rows(unit, at) if chosen.has_key(row.key))


def all_rows(unit: ArchiveUnit, at: CurrentRecord) -> Iterator[ArchiveRow]:
    """Yield the unit's records in offset order, of all keys."""
    archive, part = location_of(unit.archive), {"bucket": unit.bucket, "buckets": unit.buckets}
    for source in unit.sources:
        at.stage, at.row = "read", None
        for row in checked_rows(archive, source, **part):
            if row.offset >= unit.end:
                return
            if row.offset < unit.begin:
                continue
            at.row = row
            yield row


def _apply(
    unit: ArchiveUnit,
    partition: Partition,
    row: ArchiveRow,
    sink: RunSink,
    beats: dict[bytes, tuple[int, bytes]],
    at: CurrentRecord,
) -> None:
    at.stage = "decode"
    try:
        record = decode(row.key, row.value, offset=row.offset)
    except Malformed as error:
        origin = _origin(unit, row)
        _reject(sink, row, origin, reason=MALFORMED, stage="decode", detail=error.detail)
        return
    at.stage = "fold"
    before = partition.states.get(InvKey(record.key))
    folded = _folded(partition, record, _ADMISSIONS[row.admission])
    at.stage = "write outputs"
    match folded:
        case Refused(reason=reason, detail=detail):
            _reject(sink, row, _origin(unit, row), reason=reason, stage="fold", detail=detail)
            return  # a refused record doesn't count as a heartbeat
        case Applied():
            if before is not None:
                _write_expired(sink, before, folded)
            if folded.late is not None or folded.outputs:
                _write_outputs(sink, record, folded, _origin(unit, row))
        case Resent() | Replayed():
            pass
        case _:
            assert_never(folded)
    if folded.state is not None:
        _note_beat(record, beats)


def _folded(partition: Partition, record: Record, admission: Admission) -> FoldResult:
    if admission is not Admission.MALFORMED:
        # A unit sees only the records of its bucket, so its dedupe ring can't give the verdict. The
        # archived verdict counts instead. `replay` updates the newest commit time, the highest LSN
        # and `streamed`, which the manifest row needs.
        partition.ring.replay(record)
    return partition.apply_admitted(record, admission)


def _note_beat(record: Record, beats: dict[bytes, tuple[int, bytes]]) -> None:
    beat = beat_of(record)
    if beat is not None:
        beats[record.key.encode()] = record.offset, encode_beat(beat)


def _origin(unit: ArchiveUnit, row: ArchiveRow) -> Origin:
    return Origin(unit.generation, unit.partition, row.offset)


def _write_outputs(sink: RunSink, record: Record, folded: Applied, origin: Origin) -> None:
    if folded.late is not None:
        _write_late(sink, record, folded.late, origin)
    for output in folded.outputs:
        event = _event(output, folded, record, origin)
        sink.files[OUTPUTS].write(record.key.encode(), record.offset, event)


def _write_late(sink: RunSink, record: Record, found: LateSale, origin: Origin) -> None:
    late = Late(
        origin=origin,
        inv_key=record.key,
        units=found.units,
        amount_minor=found.amount_minor,
        reason="window_expired",
        commit_us=record.commit_us,
    )
    sink.files[LATE].write(record.key.encode(), record.offset, encode_late(late))


def _write_expired(sink: RunSink, before: KeyState, folded: Applied) -> None:
    """Write the window rows that leave the state at this record.

    A worker's changelog keeps such rows, too.
    """
    for start in folded.windows_dropped:
        content = encode_window(before.key, before.windows[start], before.position)
        sink.files[EXPIRED].write(before.key.encode(), before.position.offset, content)


def _event(output: Output, folded: Applied, record: Record, origin: Origin) -> bytes:
    at = DecisionContext(record.key, origin, record.commit_us, LOGIC_REVISION)
    if not isinstance(output, ReorderOutput):
        return encode_price(PriceEvent(output, at))
    policy = folded.state.policy
    supplier = None if policy is None else policy.supplier
    return encode_reorder(ReorderEvent(output, supplier, policy.cost_minor if policy else 0, at))


def _reject(
    sink: RunSink,
    row: ArchiveRow,
    origin: Origin,
    *,
    reason: str,
    stage: str,
    detail: str,
) -> None:
    content, detail = truncated(row.value, detail)
    rejection = Rejection(
        origin=origin,
        topic=STOCK_EVENTS,
        reason=reason,
        stage=stage,
        detail=detail,
        key=row.key,
        value=content,
        logic_revision=LOGIC_REVISION,
        commit_us=row.commit_us,
    )
    sink.files[REJECTED].write(row.key or b"", row.offset, encode_rejection(rejection))


def _write_states(partition: Partition, sink: RunSink) -> int:
    """Write every key's final state, sorted by key. Return the number of open needs.

    The states of heartbeat keys belong to no item and change every second. They go to a file of
    their own, so that recomputations of equal facts write equal files of states.
    """
    open_reorders = 0
    for key in sorted(partition.states):
        state = partition.states[key]
        if is_heartbeat_key(key):
            sink.files[HEARTBEATS].write(key.encode(), state.position.offset, encode_state(state))
            continue
        open_reorders += state.episode.state == "open"
        sink.files[STATES].write(key.encode(), state.position.offset, encode_state(state))
    return open_reorders


def _manifest_row(
    unit: ArchiveUnit, sink: RunSink, ring: Ring, records: int, open_reorders: int, started: int
) -> ManifestRow:
    files = sink.files
    return ManifestRow(
        unit=unit.name,
        input_digest=unit.input_digest,
        logic_revision=LOGIC_REVISION,
        code=unit.code,
        partition=unit.partition,
        bucket=unit.bucket,
        end=unit.end,
        records=records,
        keys=files[STATES].rows,
        outputs=files[OUTPUTS].rows,
        late=files[LATE].rows,
        rejected=files[REJECTED].rows,
        expired=files[EXPIRED].rows,
        open_reorders=open_reorders,
        states_digest=as_hex(files[STATES].digest),
        outputs_digest=as_hex(files[OUTPUTS].digest),
        late_digest=as_hex(files[LATE].digest),
        rejected_digest=as_hex(files[REJECTED].digest),
        expired_digest=as_hex(files[EXPIRED].digest),
        newest_commit_us=ring.newest_commit_us,
        highest_lsn=ring.highest_lsn,
        streamed=ring.streamed,
        directory=str(sink.directory),
        milliseconds=(time.monotonic_ns() - started) // 1_000_000,
        files={kind: file.written() for kind, file in files.items()},
    )

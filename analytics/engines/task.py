"""The one task of every engine: fold one unit of history with the workers' own fold.

Nothing here knows the rules: a record is decoded and handed to `Partition.apply_admitted` with the
verdict that the archiver stored, in offset order, as a worker does with the verdict of its ring.
"""

import time
from collections.abc import Iterator
from pathlib import Path

from analytics.archive.rows import MALFORMED, ArchiveRow, read
from analytics.digest import as_hex
from analytics.engines.results import LATE, OUTPUTS, REJECTED, STATES, RunSink
from analytics.engines.unit import ArchiveUnit, ManifestRow
from cdc.contracts.decisions import (
    Circumstances,
    PriceEvent,
    ReorderEvent,
    encode_price,
    encode_reorder,
)
from cdc.contracts.decode import Malformed, decode
from cdc.contracts.rejects import Late, Origin, Rejection, encode_late, encode_rejection
from cdc.contracts.state import encode_state
from cdc.contracts.topics import STOCK_EVENTS
from inventory.dedupe import Admission
from inventory.fold import Folded
from inventory.judging import is_heartbeat_key
from inventory.model.outputs import Output, ReorderOutput
from inventory.model.record import Record
from inventory.partition import Partition
from inventory.revision import LOGIC_REVISION

_REJECTED = "rejected:"


def recompute(unit: ArchiveUnit, results: Path) -> ManifestRow:
    """Fold one (partition, bucket) in offset order; one manifest row with counts and digests."""
    started = time.monotonic_ns()
    sink = RunSink(results, unit.name)
    partition = Partition(unit.generation)
    records = 0
    for row in _rows(unit):
        _apply(unit, partition, row, sink)
        records += 1
    open_reorders = _write_states(partition, sink)
    sink.close()
    return _manifest_row(unit, sink, records, open_reorders, started)


def _rows(unit: ArchiveUnit) -> Iterator[ArchiveRow]:
    for name in unit.files:
        for row in read(Path(unit.archive) / name, bucket=unit.bucket, buckets=unit.buckets):
            if row.offset >= unit.end:
                return
            yield row


def _apply(unit: ArchiveUnit, partition: Partition, row: ArchiveRow, sink: RunSink) -> None:
    origin = Origin(unit.generation, unit.partition, row.offset)
    try:
        record = decode(row.key, row.value, offset=row.offset)
    except Malformed as error:
        _reject(sink, row, origin, reason=MALFORMED, stage="decode", detail=error.detail)
        return
    folded = partition.apply_admitted(record, Admission[row.admission.upper()])
    if folded.verdict.startswith(_REJECTED):
        reason = folded.verdict.removeprefix(_REJECTED)
        _reject(sink, row, origin, reason=reason, stage="fold", detail=folded.detail)
        return
    _write_late(sink, record, folded, origin)
    for output in folded.outputs:
        event = _event(output, folded, record, origin)
        sink.files[OUTPUTS].write(row.key or b"", row.offset, event)


def _write_late(sink: RunSink, record: Record, folded: Folded, origin: Origin) -> None:
    if folded.late is None:
        return
    late = Late(
        origin=origin,
        inv_key=record.key,
        units=folded.late.units,
        amount_minor=folded.late.amount_minor,
        reason="window_expired",
        commit_us=record.commit_us,
    )
    sink.files[LATE].write(record.key.encode(), record.offset, encode_late(late))


def _event(output: Output, folded: Folded, record: Record, origin: Origin) -> bytes:
    at = Circumstances(record.key, origin, record.commit_us, LOGIC_REVISION)
    if not isinstance(output, ReorderOutput):
        return encode_price(PriceEvent(output, at))
    policy = None if folded.state is None else folded.state.policy
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
    rejection = Rejection(
        origin=origin,
        topic=STOCK_EVENTS,
        reason=reason,
        stage=stage,
        detail=detail,
        key=row.key,
        value=row.value,
        logic_revision=LOGIC_REVISION,
        commit_us=row.commit_us,
    )
    sink.files[REJECTED].write(row.key or b"", row.offset, encode_rejection(rejection))


def _write_states(partition: Partition, sink: RunSink) -> int:
    """Write every key's final state, sorted by key; gives the number of open reorders.

    A heartbeat's state is the partition's watermark, not an item: at rest it alone goes on, and
    two recomputations of the same trade would differ by it.
    """
    open_reorders = 0
    for key in sorted(partition.states):
        if is_heartbeat_key(key):
            continue
        state = partition.states[key]
        open_reorders += state.episode.state == "open"
        sink.files[STATES].write(key.encode(), state.position.offset, encode_state(state))
    return open_reorders


def _manifest_row(
    unit: ArchiveUnit, sink: RunSink, records: int, open_reorders: int, started: int
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
        open_reorders=open_reorders,
        states_digest=as_hex(files[STATES].digest),
        outputs_digest=as_hex(files[OUTPUTS].digest),
        late_digest=as_hex(files[LATE].digest),
        rejected_digest=as_hex(files[REJECTED].digest),
        directory=str(sink.directory),
        milliseconds=(time.monotonic_ns() - started) // 1_000_000,
    )

"""Write the Parquet tables that analysts query, for a log or for a run, partition by partition."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analytics.archive.checked import checked_content
from analytics.archive.entries import Source
from analytics.archive.storage import Location
from analytics.damage import Damage
from analytics.engines.results import EXPIRED, LATE, OUTPUTS, REJECTED, STATES, read_rows
from analytics.engines.unit import ManifestRow
from analytics.history import run_rows, run_tables
from analytics.history.columns import ARROW, HistoryTable
from analytics.history.facts import PartitionFacts
from analytics.history.files import Group, TableFile
from analytics.history.log_tables import FACTS, LOG, LOG_TABLES
from analytics.history.rows import Rows
from analytics.locks import exclusive, holder
from cdc.contracts.decisions import NotADecision, decode_price, decode_reorder
from cdc.contracts.rejects import decode_late, decode_rejection
from inventory.log.dedupe import Admission
from inventory.tables.captured import TEXT, TIME

# Raise this number if rows change and their columns don't. Then every table is written again.
CONTENT_REVISION: Final = 2
_TAKEN: Final = 75  # EX_TEMPFAIL, as for a locked run

Progress = Callable[[str, int, int], None]  # group, partitions written, partitions to write


class TablesInUse(Damage):
    """Another process writes the same tables."""

    exit_code = _TAKEN


@dataclass(frozen=True, slots=True)
class LogPart:
    """The records of an archive before `ends`, with their files by partition."""

    archive: Location
    files: Mapping[int, Sequence[Source]]
    ends: Mapping[int, int]
    generation: int

    @property
    def content(self) -> str:
        """Return a digest of the records, and of the columns of the tables of the log."""
        files = {
            number: [one.sha256 for one in self.files[number]] for number in sorted(self.files)
        }
        return digest_of(LOG_TABLES, [self.generation, dict(sorted(self.ends.items())), files])


def digest_of(tables: Sequence[HistoryTable], source: object) -> str:
    """Return a digest of `source`, and of the columns of `tables`, which are made from `source`."""
    columns = [[table.name, *((one.name, one.kind) for one in table.columns)] for table in tables]
    content = json.dumps([CONTENT_REVISION, columns, source])
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def write_log(group: Group, part: LogPart, progress: Progress) -> int:
    """Write the missing partitions of the log's tables. Return their number."""
    return _write_missing(group, lambda partition: _log_rows(part, partition), progress)


def write_run(group: Group, units: Sequence[ManifestRow], progress: Progress) -> int:
    """Write the missing partitions of a run's tables. Return their number."""

    def rows(partition: int) -> Iterator[tuple[str, Any]]:
        return _run_rows([unit for unit in units if unit.partition == partition], partition)

    return _write_missing(group, rows, progress)


def _write_missing(
    group: Group, rows: Callable[[int], Iterator[tuple[str, Any]]], progress: Progress
) -> int:
    if not group.missing():
        return 0
    lock = group.directory / f"{group.name}.lock"
    with exclusive(lock) as is_held:
        if not is_held:
            problem = f"{group.directory}: process {holder(lock)} writes these tables"
            raise TablesInUse(problem, "this command wrote nothing", "wait, then try again")
        missing = group.missing()
        for done, partition in enumerate(missing, start=1):
            _write_partition(group, partition, rows(partition))
            progress(group.name, done, len(missing))
    return len(missing)


def _write_partition(group: Group, partition: int, rows: Iterator[tuple[str, Any]]) -> None:
    with ExitStack() as unfinished:
        files: dict[str, TableFile] = {}
        for table in group.tables:
            files[table.name] = TableFile(group, table, partition)
            unfinished.callback(files[table.name].abandon)
        for name, batch in rows:
            files[name].write(batch)
        for file in files.values():
            file.close()
        unfinished.pop_all()
    group.mark(partition, {name: file.rows for name, file in files.items()})


def _log_rows(part: LogPart, partition: int) -> Iterator[tuple[str, Any]]:
    """Yield the rows of `log` file by file, then those of the fact tables and movements."""
    facts = PartitionFacts(partition)
    for source in part.files.get(partition, ()):
        content = checked_content(part.archive, source)
        archived = pq.read_table(pa.BufferReader(content))
        records = archived.filter(pc.field("offset") < part.ends[partition])
        yield LOG.name, _log_table(records, part.generation)
        _take_facts(facts, records)
    yield from facts.tables()


def _log_table(found: Any, generation: int) -> Any:  # noqa: ANN401 -- pyarrow ships no types
    """Return archived rows as rows of `log`."""
    keys = _as_text(found["key"])
    parts = [(None, None) if key is None else _store_and_sku(key) for key in keys.to_pylist()]
    columns = {
        **{name: found[name] for name in ("partition", "offset", "op", "lsn", "admission")},
        "generation": pa.array([generation] * found.num_rows, pa.int32()),
        "key": keys,
        "store": pa.array([store for store, _sku in parts], ARROW[TEXT]),
        "sku": pa.array([sku for _store, sku in parts], ARROW[TEXT]),
        "table_name": found["table"],
        "committed_at": found["commit_us"].cast(ARROW[TIME]),
        "kafka_at": pc.multiply(found["kafka_timestamp_ms"], 1000).cast(ARROW[TIME]),
        "value": _as_text(found["value"]),
    }
    return pa.table([columns[name] for name in LOG.names], schema=LOG.schema)


def _store_and_sku(key: str) -> tuple[str | None, str | None]:
    store, bar, sku = key.partition("|")
    return (store, sku) if bar else (None, None)


def _as_text(column: Any) -> Any:  # noqa: ANN401 -- pyarrow ships no types
    """Return bytes as text. If some are not UTF-8, convert the values one by one."""
    try:
        return column.cast(ARROW[TEXT])
    except pa.ArrowInvalid:
        return pa.array(map(run_rows.plain_text, column.to_pylist()), ARROW[TEXT])


def _take_facts(facts: PartitionFacts, records: Any) -> None:  # noqa: ANN401 -- pyarrow ships no types
    """Apply to `facts` those records of fact tables whose dedupe verdict is `new`."""
    is_new = pc.field("admission") == Admission.NEW.value
    chosen = records.filter(is_new & pc.field("table").isin(list(FACTS)))
    columns = (chosen[name].to_pylist() for name in ("offset", "key", "value"))
    for offset, key, value in zip(*columns, strict=True):
        facts.take(offset, key, value)


def _run_rows(units: Sequence[ManifestRow], partition: int) -> Iterator[tuple[str, Any]]:
    states, windows = Rows(run_tables.STATES), Rows(run_tables.WINDOWS)
    for content in _contents(units, STATES):
        document = run_rows.state_document(content)
        states.add(run_rows.state_row(document, partition))
        for row in run_rows.state_windows(document, partition):
            windows.add(row)
    for content in _contents(units, EXPIRED):
        for row in run_rows.expired_window(content, partition):
            windows.add(row)
    yield run_tables.STATES.name, states.arrow()
    yield run_tables.WINDOWS.name, windows.arrow()
    yield from _decisions(units)
    late = (run_rows.late_row(decode_late(content)) for content in _contents(units, LATE))
    yield run_tables.LATE.name, Rows(run_tables.LATE, late).arrow()
    refused = map(decode_rejection, _contents(units, REJECTED))
    rows = map(run_rows.rejected_row, refused)
    yield run_tables.REJECTED.name, Rows(run_tables.REJECTED, rows).arrow()


def _decisions(units: Sequence[ManifestRow]) -> Iterator[tuple[str, Any]]:
    reorders, prices = Rows(run_tables.DECISIONS), Rows(run_tables.PRICES)
    for content in _contents(units, OUTPUTS):
        try:
            reorders.add(run_rows.reorder_row(decode_reorder(content)))
        except NotADecision:
            prices.add(run_rows.price_row(decode_price(content)))
    yield run_tables.DECISIONS.name, reorders.arrow()
    yield run_tables.PRICES.name, prices.arrow()


def _contents(units: Sequence[ManifestRow], kind: str) -> Iterator[bytes]:
    return (content for unit in units for _key, _offset, content in read_rows(unit, kind))

"""Import of a sales file into the system of record (docs/domain.md 2.5): `inventory import-sales`.

The importer reads the file twice. The first pass ranges every item of a line that is not recorded
yet: it gives the item a policy, with `clock_mode` replayed. Reorders and prices are off and there
is no opening count, because the file has no stock and no orders. The second pass writes the sale
lines, one transaction per batch. The ids of the lines, and the offsets of their records, have the
order of the file.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeVar

from typing_extensions import override

from inventory.explain.formatting import counted_text
from inventory.replenishment.families import OFF
from ledger.imports.pace import Pace
from ledger.imports.retail_file import BadRow, Line, RetailFile, open_retail_file
from ledger.services import (
    RangedItem,
    RecordSale,
    ServiceError,
    name_locations,
    name_products,
    range_items,
    record_sales,
    recorded_locations,
)

Stores = Literal["single", "country"]
T = TypeVar("T")

BATCH_ROWS: Final = 5_000
# With a rate, a batch has the lines of a quarter of a second. Larger batches would change stock in
# visible jumps.
BATCHES_PER_S: Final = 4
RANGE_ROWS: Final = 2_000
LISTED_BAD_ROWS: Final = 1_000
REPORT_EVERY_S: Final = 1.0
POLICY: Final = {"clock_mode": "replayed", "replenish_family": OFF.code, "price_mode": "off"}


# The digest of the file and the number of the row identify a line. A corrected copy of the file has
# another digest, so all its lines would be new.
_NEXT_STEP: Final = (
    "\nnext: import the corrected rows as a file of their own;"
    " a corrected copy of the whole file would count the other rows twice"
)


class RecordedElsewhere(NamedTuple):
    """A sale line that is recorded already, at another location than this import would use."""

    row: int
    recorded_at: str
    wanted_at: str


class Imported(NamedTuple):
    """The progress of an import; `what` is "items" in the first pass, then "lines"."""

    what: str
    done: int
    of: int
    seconds: int

    @override
    def __str__(self) -> str:
        return f"{self.seconds} s: {self.done} of {self.of} {self.what}"


Progress = Callable[[Imported], None]


class _Reporter:
    """Calls `progress` with the state of an import, at most once a second."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._reported = self._began = time.monotonic()

    def report(self, what: str, done: int, of: int) -> None:
        """Report `done` of `of`, unless the last report is less than a second old."""
        now = time.monotonic()
        if self._progress is not None and now - self._reported >= REPORT_EVERY_S:
            self._reported = now
            self._progress(Imported(what, done, of, round(now - self._began)))


@dataclass(slots=True)
class ImportReport:
    """The result of an import.

    `rows` = `inserted` + `already_there` + `refused`. Revenue is in minor units of the currency.
    `elsewhere` is the number of lines that are already there, but at another location, because an
    earlier import of the file used other `stores`. `first_elsewhere` is the first of these lines.
    """

    path: str
    stores: str
    source: str
    rows: int = 0
    inserted: int = 0
    already_there: int = 0
    elsewhere: int = 0
    first_elsewhere: RecordedElsewhere | None = None
    refused: int = 0
    keys: int = 0
    keys_ranged: int = 0
    units_sold: int = 0
    units_returned: int = 0
    revenue_minor: int = 0
    seconds: int = 0
    refused_by_reason: Counter[str] = field(default_factory=Counter)
    bad_rows: list[BadRow] = field(default_factory=list)

    def as_json(self) -> dict[str, object]:
        """Return the report as plain values; `bad_rows` holds the first 1,000 refused rows."""
        plain = asdict(self)
        plain["refused_by_reason"] = dict(self.refused_by_reason.most_common())
        plain["bad_rows_listed"] = len(self.bad_rows)
        plain["bad_rows"] = [bad._asdict() for bad in self.bad_rows]
        first = self.first_elsewhere
        plain["first_elsewhere"] = None if first is None else first._asdict()
        return plain

    @override
    def __str__(self) -> str:
        reasons = self.refused_by_reason.most_common()
        summed = "".join(f"\n  {count} refused: {reason}" for reason, count in reasons)
        listed = "".join(f"\n  line {bad.line}: {bad.reason}" for bad in self.bad_rows)
        unlisted = self.refused - len(self.bad_rows)
        return (
            f"{counted_text(self.rows, 'row')}: {counted_text(self.inserted, 'line')} written,"
            f" {self.already_there} were there already, {self.refused} refused;"
            f" {counted_text(self.keys, 'key')}, {self.keys_ranged} newly ranged;"
            f" {counted_text(self.units_sold, 'unit')} sold, {self.units_returned} returned,"
            f" revenue {self.revenue_minor} minor units; {self.seconds} s{summed}{listed}"
            + (f"\n  and {unlisted} more" if unlisted else "")
            + (_NEXT_STEP if self.refused else "")
            + self._about_elsewhere()
        )

    def _about_elsewhere(self) -> str:
        """Return a text about the lines that an earlier import wrote at other locations.

        The text ends with the next step. It is empty if there are no such lines.
        """
        first = self.first_elsewhere
        if first is None:
            return ""
        before = "country" if self.stores == "single" else "single"
        lines = counted_text(self.elsewhere, "line")
        return (
            f"\n  an earlier import with --stores {before} wrote {lines} at other locations,"
            f" for example row {first.row} at {first.recorded_at} and not at {first.wanted_at}."
            " A line is written once, so this import left them there"
            f"\nnext: use --stores {before} for this file;"
            f" for --stores {self.stores}, import it into a new, empty database"
        )

    def count_elsewhere(self, line: RecordedElsewhere) -> None:
        """Count a line that is recorded at another location; keep the first one."""
        self.elsewhere += 1
        self.first_elsewhere = self.first_elsewhere or line

    def refuse(self, bad: BadRow) -> None:
        """Count a refused row, in total and by rule; keep the first 1,000 for the report."""
        self.refused += 1
        self.refused_by_reason[bad.rule] += 1
        if len(self.bad_rows) < LISTED_BAD_ROWS:
            self.bad_rows.append(bad)


def import_sales(
    path: Path | str,
    stores: Stores = "single",
    rate: float | None = None,
    limit: int | None = None,
    progress: Progress | None = None,
) -> ImportReport:
    """Import a file; return the counts of its rows.

    With `stores` "single", all sales belong to location UCI; with "country", to one location per
    country. `rate` is in lines per second, None for as fast as possible. `limit` ends the import
    after that many data rows. Rows that an earlier run of the same file has written are counted and
    skipped. `progress` is called about once a second. Raise `ServiceError` for a file that can't be
    read or lacks a column; invalid rows are only counted.
    """
    _check(stores, rate, limit)
    file = open_retail_file(Path(path))
    report = ImportReport(str(path), stores, f"sha256:{file.digest}")
    began = time.monotonic()
    reporter = _Reporter(progress)
    _range_keys(file, report, reporter, limit)
    _write_lines(file, report, rate, reporter, limit)
    report.seconds = round(time.monotonic() - began)
    return report


def _check(stores: str, rate: float | None, limit: int | None) -> None:
    if stores not in ("single", "country"):
        name = "stores"
        raise ServiceError(name, stores, "must be single or country")
    if rate is not None and rate <= 0:
        name = "rate"
        raise ServiceError(name, rate, "must be above 0 lines per second")
    if limit is not None and limit < 0:
        name = "limit"
        raise ServiceError(name, limit, "must be 0 or more rows")


def _range_keys(
    file: RetailFile, report: ImportReport, reporter: _Reporter, limit: int | None
) -> None:
    """Read the file once: count its rows, list the refused rows, and range the keys of new lines.

    To range a key means to give it a policy row. A key without a new line gets no policy, because
    an earlier import has written all of its lines. If that import had another value of `stores`, it
    wrote the lines under other keys.
    """
    names: dict[str, str] = {}
    keys: set[tuple[str, str]] = set()
    new: dict[tuple[str, str], None] = {}
    for lines in _chunks(_valid(file, report, limit), BATCH_ROWS):
        there = recorded_locations(report.source, [str(line.row) for line in lines])
        for line in lines:
            key = line.location, line.sku
            keys.add(key)
            recorded_at = there.get(str(line.row))
            if recorded_at is None:
                new[key] = None
            elif recorded_at != line.location:
                report.count_elsewhere(RecordedElsewhere(line.row, recorded_at, line.location))
            if not names.get(line.sku):
                names[line.sku] = line.description.replace("\x00", "").strip()
    report.keys = len(keys)
    name_locations(names={location: location for location, _ in new})
    name_products(names=names)
    seen = 0
    for chunk in _chunks(iter(new), RANGE_ROWS):
        items = [RangedItem(location, sku, POLICY, None) for location, sku in chunk]
        report.keys_ranged += range_items(items=items)
        seen += len(chunk)
        reporter.report("items", seen, len(new))


def _valid(file: RetailFile, report: ImportReport, limit: int | None) -> Iterator[Line]:
    """Yield the valid rows; count all rows and the refused ones in `report`."""
    for row in islice(file.rows(report.stores), limit):
        report.rows += 1
        if isinstance(row, BadRow):
            report.refuse(row)
        else:
            yield row


def _write_lines(
    file: RetailFile,
    report: ImportReport,
    rate: float | None,
    reporter: _Reporter,
    limit: int | None,
) -> None:
    """Read the file again and write its valid rows, in file order."""
    size = BATCH_ROWS if rate is None else max(1, min(BATCH_ROWS, int(rate / BATCHES_PER_S)))
    pace = Pace(per_second=rate)
    rows = islice(file.rows(report.stores), limit)
    lines = (row for row in rows if isinstance(row, Line))
    for batch in _chunks(lines, size):
        pace.wait_for(len(batch))
        _write(batch, report)
        written = report.inserted + report.already_there
        reporter.report("lines", written, report.rows - report.refused)


def _write(batch: list[Line], report: ImportReport) -> None:
    recorded = record_sales(
        [
            RecordSale(
                location=line.location,
                sku=line.sku,
                source=report.source,
                source_ref=str(line.row),
                quantity_units=line.quantity_units,
                amount_minor=line.amount_minor,
                occurred_at=line.occurred_at,
            )
            for line in batch
        ]
    )
    report.inserted += recorded.inserted
    report.already_there += recorded.skipped
    report.revenue_minor += sum(line.amount_minor for line in batch)
    report.units_sold += sum(max(0, line.quantity_units) for line in batch)
    report.units_returned += sum(max(0, -line.quantity_units) for line in batch)


def _chunks(items: Iterator[T], size: int) -> Iterator[list[T]]:
    while chunk := list(islice(items, size)):
        yield chunk

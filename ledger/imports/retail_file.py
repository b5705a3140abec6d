"""Reader of files in the layout of the UCI "Online Retail" data set (domain.md 2.5).

Each row becomes a `Line`, or a `BadRow` with its line number and the rule that it breaks. No row is
repaired, merged or dropped. Amounts are exact: a decimal is read as an integer and a power of ten,
never as a float.
"""

import codecs
import csv
import gzip
import hashlib
import io
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from inventory.model.arithmetic import half_even
from inventory.tables.columns import AMOUNT_MAX, QUANTITY_MAX
from ledger.kernel.checks import EARLIEST, location_problem, sku_problem
from ledger.services import ServiceError

SINGLE_LOCATION: Final = "UCI"
GZIP_MAGIC: Final = b"\x1f\x8b"
# Column titles of the known editions of the layout. A title is compared after its conversion to
# lower case and without any character other than a-z.
COLUMNS: Final = {
    "sku": ("stockcode",),
    "description": ("description",),
    "quantity": ("quantity",),
    "date": ("invoicedate",),
    "price": ("unitprice", "price"),
    "country": ("country",),
}
TITLES: Final = {
    "sku": "StockCode",
    "quantity": "Quantity",
    "date": "InvoiceDate",
    "price": "UnitPrice",
    "country": "Country",
}
DATE_FORMATS: Final = (
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M:%S",
    "%m/%d/%Y %H:%M",
    "%m/%d/%Y %H:%M:%S",
)
_SHOWN: Final = 200  # most characters of a wrong header that a message shows
_GOT: Final = ", got "  # in a reason, separates the rule from the value of the row
WHOLE: Final = re.compile(r"[+-]?[0-9]{1,18}\Z")
DECIMAL: Final = re.compile(r"([+-]?)([0-9]{0,18})(?:\.([0-9]{0,18}))?\Z")


class Line(NamedTuple):
    """A valid row; `row` is its number among the data rows, from 1.

    The number becomes the `source_ref` of the sale line.
    """

    row: int
    location: str
    sku: str
    quantity_units: int
    amount_minor: int
    occurred_at: datetime
    description: str


class BadRow(NamedTuple):
    """A row that breaks a rule: the number of its last line in the file, from 1, and the reason."""

    line: int
    reason: str

    @property
    def rule(self) -> str:
        """The reason without the row's value, so that rows with the same fault can be counted."""
        return self.reason.partition(_GOT)[0]


@dataclass(frozen=True, slots=True)
class RetailFile:
    """A file: its path, its encoding (utf-8-sig or cp1252), and the digest of its content.

    `digest` is the SHA-256 of the unpacked content, in hexadecimal.
    """

    path: Path
    encoding: str
    digest: str

    def rows(self, stores: str) -> Iterator[Line | BadRow]:
        """Yield every data row in file order; `stores` is single or country.

        Raise `ServiceError` if the first line lacks a column or names a column twice.
        """
        with _opened(self.path) as raw, _text(raw, self.encoding) as lines:
            reader = csv.reader(lines)
            layout = _layout(_header(reader), stores)
            number, before = 0, reader.line_num
            for record in _records(reader):
                if isinstance(record, BadRow):
                    number += 1
                    yield record
                elif record:
                    number += 1
                    yield _line(record, layout, number, (before + 1, reader.line_num))
                before = reader.line_num


def open_retail_file(path: Path) -> RetailFile:
    """Return the file with its encoding and the digest of its unpacked content.

    A file and its gzip copy have the same digest, so the rows of both are the same sale lines.
    Raise `ServiceError` if the file can't be read or is UTF-16.
    """
    digest = hashlib.sha256()
    encoding = "utf-8-sig"
    decoder = _Utf8Probe()
    try:
        with _opened(path) as raw:
            _refuse_utf16(path, raw.peek(len(codecs.BOM_UTF16)))
            while chunk := raw.read(1 << 20):
                digest.update(chunk)
                decoder.feed(chunk)
    except (OSError, EOFError, zlib.error) as problem:
        field, rule = "file", f"a readable .csv or .csv.gz ({problem})"
        raise ServiceError(field, str(path), rule) from problem
    if not decoder.is_utf8():
        encoding = "cp1252"
    return RetailFile(path, encoding, digest.hexdigest())


def _refuse_utf16(path: Path, start: bytes) -> None:
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        rule = (
            "text in UTF-8 or Windows-1252, not UTF-16: convert it with `iconv -f UTF-16 -t UTF-8`"
        )
        field = "file"
        raise ServiceError(field, str(path), rule)


class _Utf8Probe:
    """Detects whether chunks of bytes are UTF-8; older files of the layout are Windows-1252."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._failed = False

    def feed(self, chunk: bytes) -> None:
        if not self._failed:
            try:
                self._decoder.decode(chunk)
            except UnicodeDecodeError:
                self._failed = True

    def is_utf8(self) -> bool:
        return not self._failed


class _Layout(NamedTuple):
    width: int
    sku: int
    description: int | None
    quantity: int
    date: int
    price: int
    country: int | None  # None: every row belongs to the single location


def _opened(path: Path) -> io.BufferedReader | gzip.GzipFile:
    with path.open("rb") as stream:
        is_packed = stream.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    return gzip.GzipFile(path, "rb") if is_packed else path.open("rb")


def _text(raw: io.BufferedReader | gzip.GzipFile, encoding: str) -> io.TextIOWrapper:
    # Five byte values have no character in cp1252. They become U+FFFD, and the import continues.
    return io.TextIOWrapper(raw, encoding=encoding, errors="replace", newline="")


def _layout(header: list[str], stores: str) -> _Layout:
    titles = [re.sub(r"[^a-z]", "", title.lower()) for title in header]
    wanted = ("sku", "quantity", "date", "price", *(("country",) if stores == "country" else ()))
    found = {
        name: [at for at, title in enumerate(titles) if title in COLUMNS[name]] for name in COLUMNS
    }
    missing = [TITLES[name] for name in wanted if not found[name]]
    repeated = [TITLES[name] for name in wanted if len(found[name]) > 1]
    for problem, names in (("it must name", missing), ("it must not repeat", repeated)):
        if names:
            shown = ",".join(header)[:_SHOWN]
            field = "first line"
            raise ServiceError(field, shown, f"{problem} the columns {', '.join(names)}")
    places = {name: positions[0] for name, positions in found.items() if positions}
    return _Layout(
        width=len(header),
        sku=places["sku"],
        description=places.get("description"),
        quantity=places["quantity"],
        date=places["date"],
        price=places["price"],
        country=places.get("country") if stores == "country" else None,
    )


def _header(reader: "Iterator[list[str]]") -> list[str]:
    """Return the titles of the columns, or [] if the file is empty or its first line is no CSV."""
    try:
        return next(reader, [])
    except csv.Error:
        return []


def _records(reader: "Iterator[list[str]]") -> Iterator[list[str] | BadRow]:
    while True:
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as problem:
            line = getattr(reader, "line_num", 0)
            yield BadRow(line, f"not readable as CSV: {problem}")
            continue
        yield record


def _line(record: list[str], layout: _Layout, row: int, lines: tuple[int, int]) -> Line | BadRow:
    """Return the row as a `Line`, or as a `BadRow` with the first rule that it breaks.

    `lines` are the first and last line of the row in the file, from 1.
    """
    first, line = lines
    if len(record) != layout.width:
        found = f"missing column: {layout.width} fields expected{_GOT}{len(record)}"
        if first < line:
            found += f" in the lines {first} to {line}: is a quote of line {first} not closed?"
        return BadRow(line, found)
    try:
        quantity = _quantity(record[layout.quantity])
        return Line(
            row=row,
            location=_location(record, layout),
            sku=_sku(record[layout.sku]),
            quantity_units=quantity,
            amount_minor=_amount(quantity, record[layout.price]),
            occurred_at=_moment(record[layout.date]),
            description="" if layout.description is None else record[layout.description],
        )
    except _Forbidden as problem:
        return BadRow(line, str(problem))


class _Forbidden(ValueError):
    """A field that breaks a rule; the text names field, rule and value."""


def _location(record: list[str], layout: _Layout) -> str:
    if layout.country is None:
        return SINGLE_LOCATION
    return country_location(record[layout.country])


@lru_cache(maxsize=4096)
def country_location(country: str) -> str:
    """Return a country as a location code: `United Kingdom` becomes `UNITED-KINGDOM`.

    Raise `_Forbidden` if the result is not a valid location code.
    """
    location = country.upper().replace(" ", "-")
    problem = location_problem(location)
    if problem:
        message = f"Country: {problem}, got {country!r}"
        raise _Forbidden(message)
    return location


@lru_cache(maxsize=65_536)
def _sku(code: str) -> str:
    problem = sku_problem(code)
    if problem:
        message = f"StockCode: {problem}, got {code!r}"
        raise _Forbidden(message)
    return code


@lru_cache(maxsize=65_536)
def _quantity(text: str) -> int:
    stripped = text.strip()
    if not WHOLE.match(stripped):
        message = f"Quantity: a whole number, got {text!r}"
        raise _Forbidden(message)
    units = int(stripped)
    if units == 0 or abs(units) > QUANTITY_MAX:
        message = f"Quantity: not 0, from -{QUANTITY_MAX} to {QUANTITY_MAX}, got {text!r}"
        raise _Forbidden(message)
    return units


@lru_cache(maxsize=65_536)
def _price(text: str) -> tuple[int, int]:
    """Return a decimal as (integer, power of ten): `2.50` is (250, 100)."""
    match = DECIMAL.match(text.strip())
    if match is None or not (match[2] or match[3]):
        message = f"UnitPrice: a decimal number, got {text!r}"
        raise _Forbidden(message)
    decimals = match[3] or ""
    digits = int(match[2] + decimals)
    return (-digits if match[1] == "-" else digits), 10 ** len(decimals)


def _amount(quantity: int, text: str) -> int:
    price, scale = _price(text)
    amount = half_even(quantity * price * 100, scale)
    if abs(amount) > AMOUNT_MAX:
        message = f"Quantity x UnitPrice: at most {AMOUNT_MAX} minor units, got {amount}"
        raise _Forbidden(message)
    return amount


@lru_cache(maxsize=65_536)
def _moment(text: str) -> datetime:
    for form in DATE_FORMATS:
        try:
            at = datetime.strptime(text.strip(), form).replace(tzinfo=UTC)
        except ValueError:
            continue
        if at < EARLIEST:
            break
        return at
    message = f"InvoiceDate: YYYY-MM-DD HH:MM:SS or M/D/YYYY H:MM from 2000 on, got {text!r}"
    raise _Forbidden(message)

"""Pure functions that read CSV files with codes of products: `sku,code,supplier,units,active`.

If a row names a supplier, `code` is this supplier's article number. Otherwise it is a GTIN. Each
row becomes a `CodeRow`, or a `BadCodeRow` with its line and refusal. No row is repaired or dropped.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from ledger.items.codes import (
    MOST_PACK_UNITS,
    DescribeCode,
    DescribeGtin,
    DescribeSupplierCode,
    gtin14_or,
    supplier_code,
)
from ledger.items.gtin import digits_in
from ledger.kernel.errors import ServiceError, refuse
from ledger.kernel.refusal_text import refusal_text
from ledger.messages import Message
from ledger.nouns import counted

REQUIRED: Final = ("sku", "code")
OPTIONAL: Final = ("supplier", "units", "active")
MOST_ROWS: Final = 5_000
MOST_CHARACTERS: Final = 500_000
DELIMITERS: Final = ",;\t"
_FILE: Final = "file"
_YES: Final = ("", "yes", "true", "1")
_NO: Final = ("no", "false", "0")
# A spreadsheet shows `4006381333931` as `4.00638E+12`, and exports what it shows.
_ROUNDED: Final = re.compile(r"[0-9][.,][0-9]+E\+[0-9]+\Z")


class CodeRow(NamedTuple):
    """A valid row, and the number of its last line in the file, from 1."""

    line: int
    command: DescribeCode


class BadCodeRow(NamedTuple):
    """A wrong row: the number of its last line in the file, from 1, and its refusal."""

    line: int
    refusal: ServiceError

    @property
    def reason(self) -> str:
        """The refusal as an English sentence, for programs and reports."""
        return refusal_text(self.refusal)


def decoded(content: bytes) -> str:
    """Return the text of a file; raise `ServiceError` unless it is UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        refuse(_FILE, None, "not text in UTF-8: save it as “CSV UTF-8”")


def code_rows(text: str) -> Iterator[CodeRow | BadCodeRow]:
    """Yield every row that isn't empty, in order.

    Raise `ServiceError` for a file that is too long or no CSV, or whose first line names wrong
    columns.
    """
    if len(text) > MOST_CHARACTERS:
        most = f"{MOST_CHARACTERS:,}"
        refuse(_FILE, None, Message("at most %(most)s characters: divide the file", most=most))
    text = text.removeprefix("\ufeff")
    first = text.partition("\n")[0]
    delimiter = max(DELIMITERS, key=first.count)
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    number = 0
    try:
        columns = _columns(next(reader, []))
        for cells in reader:
            if any(cell.strip() for cell in cells):
                number += 1
                yield _row(reader.line_num, columns, cells)
            if number > MOST_ROWS:
                most = f"{MOST_ROWS:,}"
                refuse(_FILE, None, Message("at most %(most)s rows: divide the file", most=most))
    except csv.Error as problem:
        rule = Message(
            "line %(line)s is no CSV (%(problem)s): check its quotation marks",
            line=reader.line_num,
            problem=problem,
        )
        raise ServiceError(_FILE, None, rule) from problem


def _columns(titles: list[str]) -> list[str]:
    columns = [title.strip().lower() for title in titles]
    unknown = [name for name in columns if name not in (*REQUIRED, *OPTIONAL)]
    missing = [name for name in REQUIRED if name not in columns]
    if unknown or missing or len(set(columns)) < len(columns):
        refuse(
            _FILE,
            ", ".join(titles),
            "the first line must name the columns sku and code, and optionally supplier, units, "
            "active",
        )
    return columns


def _row(line: int, columns: list[str], cells: list[str]) -> CodeRow | BadCodeRow:
    if len(cells) != len(columns):
        rule = Message(
            "the row has %(cells)s, but the first line names %(columns)s",
            cells=counted(len(cells), "cell"),
            columns=counted(len(columns), "column"),
        )
        return BadCodeRow(line, ServiceError("form", None, rule))
    given = {name: cell.strip() for name, cell in zip(columns, cells, strict=True)}
    try:
        command = _command(given)
        command.check()
    except ServiceError as refused:
        return BadCodeRow(line, refused)
    return CodeRow(line, command)


def _command(given: Mapping[str, str]) -> DescribeCode:
    code, sku, supplier = given["code"], given["sku"], given.get("supplier", "")
    units, is_active = _units(given.get("units", "")), _is_active(given.get("active", ""))
    if not code:
        refuse("code", code, "must not be empty")
    if supplier:
        if units != 1:
            refuse("units", units, "must be 1 for the code of a supplier: for a case, use its GTIN")
        return DescribeSupplierCode(supplier_code(supplier, code), supplier, code, sku, is_active)
    if _ROUNDED.match(code.upper()):
        refuse(
            "code",
            code,
            "a spreadsheet has rounded this number: format the column as text, and export again",
        )
    return DescribeGtin(gtin14_or(digits_in(code)), sku, units, is_active)


def _units(text: str) -> int:
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(MOST_PACK_UNITS))
    if text and not (is_number and 1 <= int(text) <= MOST_PACK_UNITS):
        most = f"{MOST_PACK_UNITS:,}"
        refuse("units", text, Message("a whole number from %(low)s to %(high)s", low=1, high=most))
    return int(text or 1)


def _is_active(text: str) -> bool:
    if text.lower() not in (*_YES, *_NO):
        refuse("active", text, "yes or no")
    return text.lower() in _YES

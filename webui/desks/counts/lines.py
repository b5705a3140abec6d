"""Parser for the lines that a person types to count several items, for example `MUG-1 12`."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID, uuid5

from ledger.items.scanned import scanned_item
from ledger.kernel.errors import ServiceError
from ledger.messages import gettext_noop
from ledger.services import Entry, Refused

# Three groups: the item, a separator (blanks, `,` or `;`), and at most 9 digits with the units. A
# line that ends with a longer number has no units: the number is part of the SKU.
_WITH_UNITS: Final = re.compile(r"(.*[^\s;,])(\s*[;,]\s*|\s+)([0-9]{1,9})")
_WITH_WORD: Final = re.compile(r"(.*[^\s;,])[\s;,]+([^\s;,]+)")


def line_entries(location: str, lines: Sequence[str], command_id: UUID) -> list[Entry]:
    """Return one entry per line. The same `command_id` and lines give entries with the same ids."""
    return [
        _entry(location, line, uuid5(command_id, str(number))) for number, line in enumerate(lines)
    ]


def _entry(location: str, line: str, entry_id: UUID) -> Entry:
    """Return the entry of a line `SKU units` or `SKU;units`. Without a number, it has one unit."""
    found = _WITH_UNITS.fullmatch(line)
    # The complete line may be an SKU with a comma or semicolon, for example `TEA,250`. A number
    # after a blank is never part of the SKU.
    if found is None or (found[2].strip() and _is_item(location, line)):
        return Entry(entry_id, line, 1)
    return Entry(entry_id, found[1], int(found[3]))


def explained(location: str, refused: Sequence[Refused]) -> tuple[Refused, ...]:
    """Return the refusals; if a line has a known item and a wrong number, with a clearer text.

    For example, the ledger refuses the line `MUG-1 1O`, with the letter O, as an unknown item. If
    `MUG-1` is an item, the clearer refusal names `1O`, which is not a number of units.
    """
    return tuple(_explained(location, row) for row in refused)


def _explained(location: str, row: Refused) -> Refused:
    found = _WITH_WORD.fullmatch(row.sku)
    if row.field != "sku" or found is None or not _is_item(location, found[1]):
        return row
    rule = gettext_noop("not a number of units: write the item, a space and its units")
    return replace(row, sku=found[1], field="units", value=found[2], rule=rule)


def _is_item(location: str, text: str) -> bool:
    try:
        scanned_item(location, text)
    except ServiceError:
        return False
    return True

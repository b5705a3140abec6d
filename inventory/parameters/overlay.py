"""Overlays: rules that replace policy columns of the log's `item_location` rows.

Policy is data in the log. A recomputation with an overlay gives the results as if the overlay's
parameters had been in force from the first record on. The log itself is unchanged.

Example: `((("replenish_family", "sS"),), (("hysteresis_units", 3),))` sets the hysteresis of every
item of family sS to 3 units. A row of another family stays as it is.
"""

from collections.abc import Mapping
from typing import NamedTuple

Cell = int | str | bool | tuple[int, ...] | None
Cells = tuple[tuple[str, Cell], ...]  # column and value


class OverlayRule(NamedTuple):
    """A rule that sets the columns `changes` in each row that has all values of `where`.

    `where` may name any column of the row, `location` and `sku` included. If `where` is empty, the
    rule applies to every row.
    """

    where: Cells
    changes: Cells


Overlay = tuple[OverlayRule, ...]


def is_affected(row: Mapping[str, object], rule: OverlayRule) -> bool:
    """Return True if the row image has all values of the rule's `where`."""
    return all(row.get(column) == wanted for column, wanted in rule.where)


def applied(row: Mapping[str, object], overlay: Overlay) -> Mapping[str, object]:
    """Return the row image with the columns that the rules set. The input is unchanged.

    Rules apply in order: the `where` of a later rule sees the values that earlier rules have set.
    A tuple of integers becomes a list, as in a decoded row. So if the rules change no value, the
    result equals the row.
    """
    for rule in overlay:
        if is_affected(row, rule):
            row = {**row, **{column: _in_row(cell) for column, cell in rule.changes}}
    return row


def _in_row(cell: Cell) -> object:
    return list(cell) if isinstance(cell, tuple) else cell

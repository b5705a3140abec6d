"""An overlay: policy columns that rules set over those of the log's `item_location` rows.

Most of what people call logic is policy, and policy is data in the log. An overlay answers "what if
these parameters had been in force from the first record on", without a change of the log.

Example: `((("replenish_family", "sS"),), (("hysteresis_units", 3),))` sets the hysteresis of every
item of family sS to 3 units. A row of another family stays as it is.
"""

from collections.abc import Mapping
from typing import NamedTuple

Cell = int | str | bool | tuple[int, ...] | None
Cells = tuple[tuple[str, Cell], ...]  # column and value


class OverlayRule(NamedTuple):
    """Columns to set in each row that has all values of `where`.

    `where` may name any column of the row, `location` and `sku` included. Empty means every row.
    """

    where: Cells
    changes: Cells


Overlay = tuple[OverlayRule, ...]


def is_affected(row: Mapping[str, object], rule: OverlayRule) -> bool:
    """Return True if the row image has all values of the rule's conditions."""
    return all(row.get(column) == wanted for column, wanted in rule.where)


def applied(row: Mapping[str, object], overlay: Overlay) -> Mapping[str, object]:
    """Return the row image with the columns that the rules set. The input is unchanged.

    Rules apply in order. So a later rule reads the values that earlier ones have set.
    """
    for rule in overlay:
        if is_affected(row, rule):
            row = {**row, **dict(rule.changes)}
    return row

"""Parse the values of `--set` and `--where`.

Example: `--set hysteresis_units=3 --where family=sS,location=BERLIN-1`.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from analytics.damage import Damage
from inventory.errors import Rejected
from inventory.parameters.overlay import Cell, OverlayRule
from inventory.replenishment.families import FAMILIES
from inventory.tables.captured import BIGINT, BIGINTS, BOOLEAN, COMMON, TEXT
from inventory.tables.item_location import STATUSES, TABLE, parse_policy

NULL: Final = "null"
_SETTABLE: Final = {
    name: kind for name, kind in TABLE.columns if kind in (BIGINT, BIGINTS, BOOLEAN, TEXT)
}
_CONDITIONS: Final = {
    name: kind for name, kind in (*COMMON, *TABLE.columns) if kind in (BIGINT, BOOLEAN, TEXT)
}
_SHORT: Final = {
    "family": "replenish_family",
    "store": "location",
    "item": "sku",
    "key": "inv_key",
}
_NEXT: Final = re.compile(r",(?=\s*[a-z_]+\s*=)")  # a SKU may contain a comma
_BOOLEANS: Final = {"true": True, "false": False}
_NAMED: Final = 8  # columns listed in a message about an unknown column


class BadParameter(Damage, ValueError):
    """A parameter or condition has an unknown column, or a value that the column can't have."""

    exit_code = 2


def rule_of(changes: Sequence[str], where: Sequence[str] = ()) -> OverlayRule:
    """Return the rule that sets each `column=value` of `changes` where all of `where` hold.

    One text of `where` may hold several conditions, separated by commas. `null` is SQL's null;
    a list is written as `100,200`.

    Raises:
        BadParameter: a text is malformed. The message names option, column and value.
    """
    chosen = dict(_assignment("--set", text, _SETTABLE) for text in changes)
    for column, cell in chosen.items():
        _refuse_out_of_range(column, cell)
    conditions = (part for text in where for part in _NEXT.split(text))
    wanted = dict(_assignment("--where", text, _CONDITIONS) for text in conditions)
    return OverlayRule(tuple(wanted.items()), tuple(chosen.items()))


def text_of(rule: OverlayRule) -> str:
    """Return the rule in one line: `hysteresis_units = 3 where replenish_family = sS`."""
    changes = ", ".join(_texts(rule.changes))
    conditions = ", ".join(_texts(rule.where))
    return f"{changes} where {conditions}" if conditions else f"{changes} for every item"


def _texts(cells: Sequence[tuple[str, Cell]]) -> Iterator[str]:
    for column, cell in cells:
        yield f"{column} = {_text(cell)}"


def _text(cell: Cell) -> str:
    match cell:
        case None:
            return NULL
        case bool():
            return "true" if cell else "false"
        case tuple():
            return ",".join(map(str, cell))
        case _:
            return str(cell)


def _assignment(option: str, text: str, columns: dict[str, str]) -> tuple[str, Cell]:
    name, is_assigned, value = (part.strip() for part in text.partition("="))
    column = _SHORT.get(name, name)
    if not is_assigned:
        problem = f"{option} {text!r}: expected column=value, such as hysteresis_units=3"
        raise _bad(problem)
    if column not in columns:
        near = [known for known in columns if name and (name in known or known in name)]
        names = ", ".join((near or [*columns])[:_NAMED])
        problem = f"{option} {text!r}: no such policy column; known columns: {names}"
        raise _bad(problem)
    return column, _cell(option, text, columns[column], value)


def _cell(option: str, text: str, kind: str, value: str) -> Cell:
    if value == NULL:
        return None
    try:
        match kind:
            case "bigint":
                return int(value)
            case "bigint[]":
                return tuple(int(part) for part in value.split(",") if part.strip())
            case "boolean":
                return _BOOLEANS[value]
            case _:
                return value
    except (KeyError, ValueError) as error:
        expected = {BIGINT: "a whole number", BIGINTS: "whole numbers such as 100,200"}
        problem = f"{option} {text!r}: expected {expected.get(kind, 'true or false')}"
        raise _bad(problem) from error


def _refuse_out_of_range(column: str, cell: Cell) -> None:
    """Raise `BadParameter` for a value that is invalid in every policy row."""
    if column == "replenish_family" and cell in FAMILIES:
        return  # the empty row below lacks the columns that some families need
    try:
        parse_policy("", {"id": 1, "status": STATUSES[0], column: cell})
    except Rejected as error:
        problem = f"--set {column}={_text(cell)}: {error.detail}"
        raise _bad(problem) from error


def _bad(problem: str) -> BadParameter:
    return BadParameter(problem, "nothing was computed", "docs/domain.md 2.6 lists the columns")

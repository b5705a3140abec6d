"""Parse the values of `--set` and `--where`, as commands and the page History accept them.

Example: `--set hysteresis_units=3 --where family=sS,location=BERLIN-1`.
"""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Final

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


class WrongParameter(ValueError):
    """A parameter or condition has an unknown column, or a value that the column can't have.

    `given` is the option with its value, and `reason` the rule that the value breaks.
    """

    def __init__(self, given: str, reason: str) -> None:
        self.reason = reason
        super().__init__(f"{given}: {reason}")


def rule_of(changes: Sequence[str], where: Sequence[str] = ()) -> OverlayRule:
    """Return the rule that makes `changes` in each policy row that meets all conditions of `where`.

    Each change and each condition has the form `column=value`. One text of `where` may contain
    several conditions, separated by commas. The value `null` is SQL's null. A list is written as
    `100,200`.

    Raises:
        WrongParameter: a text is malformed. The message names option, column and value.
    """
    chosen = dict(_assignment("--set", text, _SETTABLE) for text in changes)
    for column, cell in chosen.items():
        _refuse_out_of_range(column, cell)
    conditions = (part for text in where for part in _NEXT.split(text))
    wanted = dict(_assignment("--where", text, _CONDITIONS) for text in conditions)
    return OverlayRule(tuple(wanted.items()), tuple(chosen.items()))


def cell_text(cell: Cell) -> str:
    """Return a column's value as text that `rule_of` reads, such as `null`, `true` or `100,200`."""
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
        reason = "expected column=value, such as hysteresis_units=3"
        given = f"{option} {text!r}"
        raise WrongParameter(given, reason)
    if column not in columns:
        reason = f"no such policy column; {_known(name, columns)}"
        given = f"{option} {text!r}"
        raise WrongParameter(given, reason)
    return column, _cell(option, text, columns[column], value)


def _known(name: str, columns: Iterable[str]) -> str:
    """Return a text with the columns similar to `name`, or with all columns if none is similar."""
    contained = {known for known in columns if name and (name in known or known in name)}
    near = contained | {*get_close_matches(name, [*columns], n=8, cutoff=0.65)}
    if near:
        return f"similar columns: {', '.join(sorted(near))}"
    return f"known columns: {', '.join(columns)}"


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
        reason = f"expected {expected.get(kind, 'true or false')}"
        given = f"{option} {text!r}"
        raise WrongParameter(given, reason) from error


def _refuse_out_of_range(column: str, cell: Cell) -> None:
    """Raise `WrongParameter` for a value that no policy row may have in `column`."""
    if column == "replenish_family" and cell in FAMILIES:
        return  # the row below lacks columns that some families need
    try:
        parse_policy("", {"id": 1, "status": STATUSES[0], column: cell})
    except Rejected as error:
        given = f"--set {column}={cell_text(cell)}"
        raise WrongParameter(given, error.detail) from error

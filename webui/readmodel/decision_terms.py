"""Lines of text for people, made from the terms of a decision: pairs of name and value."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from cdc.contracts.times import time_text
from inventory.explain import formatting
from inventory.explain.decision import arithmetic
from inventory.explain.lines import SUM, note


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an explanation. If `is_sum`, it is the result of the lines above it.

    `about` is a remark for people, or empty.
    """

    label: str
    text: str
    is_sum: bool
    about: str = ""


_SUMS: Final = frozenset(
    {"base_position_units", "reorder_point_units", "order_up_to_units", "quantity_units"}
)


def lines(terms: Iterable[Sequence[object]]) -> list[Line]:
    """Return one line for each term (named input or step) that has a value, in their order."""
    return [
        _line(str(name), value if isinstance(value, int) else str(value))
        for name, value in terms
        if value is not None and value != ""
    ]


def _line(name: str, value: int | str) -> Line:
    line = note(name, value)
    return Line(formatting.label(line), formatting.text(line, time_text), name in _SUMS)


@dataclass(frozen=True, slots=True)
class Steps:
    """The lines of one part of a need's arithmetic, with the title of the part."""

    title: str
    lines: Sequence[Line]


def need_steps(terms: Iterable[Sequence[object]]) -> list[Steps]:
    """Return the arithmetic of a need in parts, from the stock to the quantity.

    `terms` are pairs of name and value. Terms without a value are left out.
    """
    known = [
        (str(name), value if isinstance(value, int) else str(value))
        for name, value in terms
        if value is not None and value != ""
    ]
    return [
        Steps(
            formatting.TITLES[section.name],
            [
                Line(
                    formatting.label(line),
                    formatting.text(line, time_text),
                    line.part == SUM,
                    line.detail,
                )
                for line in section.lines
            ],
        )
        for section in arithmetic(known)
    ]

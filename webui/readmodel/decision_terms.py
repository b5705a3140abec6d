"""The terms of a decision, pairs of name and value, as lines of text for people."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from cdc.contracts.times import time_text
from inventory.explain import formatting
from inventory.explain.decision import arithmetic
from inventory.explain.lines import SUM, note


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an explanation; `is_sum` marks a result of the lines above it."""

    label: str
    text: str
    is_sum: bool
    about: str = ""


_SUMS: Final = frozenset(
    {"base_position_units", "reorder_point_units", "order_up_to_units", "quantity_units"}
)


def lines(terms: Iterable[Sequence[object]]) -> list[Line]:
    """Return the terms (named inputs and steps) as lines. Leave out terms without a value."""
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
    """One part of the arithmetic of a need, with its title."""

    title: str
    lines: Sequence[Line]


def need_steps(terms: Iterable[Sequence[object]]) -> list[Steps]:
    """Return the complete arithmetic of a need, from the stock to the quantity."""
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

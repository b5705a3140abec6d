"""Named integers of a decision as lines that people read; the unit stands in the name's end."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from webui.readmodel.figures import (
    centidays_text,
    micro_text,
    money_text,
    time_text,
    units_text,
)

_LABELS: Final = {
    "base_position_units": "Base position B",
    "reorder_point_units": "Reorder point s",
    "order_up_to_units": "Order up to S",
    "safety_stock_units": "Safety stock",
    "on_hand_clamp_units": "Clamp: a negative shelf counts as 0",
    "on_order_clamp_units": "Clamp: a negative order bucket counts as 0",
    "sigma_micro": "Deviation per day",
    "demand_rate_micro": "Demand per day d",
    "replenish_family": "Rule family",
    "allocated_units": "Allocated",
    "need_units": "Need",
    "service_z_micro": "Service factor z",
}
_PRINTERS: Final = (
    ("_units", units_text),
    ("_micro", micro_text),
    ("_centidays", centidays_text),
    ("_minor", money_text),
    ("_us", time_text),
)
_UNITS: Final = ("_units", "_micro", "_centidays", "_minor", "_us")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an explanation; `is_sum` sets it off from the lines that lead to it."""

    label: str
    text: str
    is_sum: bool


_SUMS: Final = frozenset(
    {"base_position_units", "reorder_point_units", "order_up_to_units", "quantity_units"}
)


def lines(terms: Iterable[Sequence[object]]) -> list[Line]:
    """The terms as lines, in their order; those without a value are left out."""
    return [
        Line(_label(str(name)), _text(str(name), value), name in _SUMS)
        for name, value in terms
        if value is not None and value != ""
    ]


def _label(name: str) -> str:
    if name in _LABELS:
        return _LABELS[name]
    for unit in _UNITS:
        name = name.removesuffix(unit)
    return name.replace("_", " ").capitalize()


def _text(name: str, value: object) -> str:
    if isinstance(value, int):
        for unit, printed in _PRINTERS:
            if name.endswith(unit):
                return printed(value)
    return str(value).replace("_", " ")

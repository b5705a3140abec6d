"""Tables with one row for each day of a key, from which a script draws charts.

Chart and table have the same days and values, and the table works without the script.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext, ngettext

from inventory.explain.days import FIRST, MARKDOWN, OUT, DemandDay, PriceDay, StockDay
from ledger.kernel.amounts import amount_text
from ledger.messages import gettext_noop
from webui.readmodel.figures import (
    counted_text,
    micro_text,
    signed_units_text,
    time_text,
    units_text,
)

PRICE_HEADS: Final = (gettext_noop("Price"), gettext_noop("Lowest of 30 days"))
_MARKS: Final = {"receipts": "receipt", "transfers": "transfer"}
_REASONS: Final = {
    FIRST: gettext_noop("not counted: the item's first day"),
    MARKDOWN: gettext_noop("not counted: another price than the regular one was in force"),
    OUT: gettext_noop("not counted: out of stock too long"),
}


@dataclass(frozen=True, slots=True)
class ChartDay:
    """One row of the table: `values` and `marks` for the chart, `cells` and `note` for people.

    `day` is a date like `2026-11-21`, and `seconds` its start in seconds since 1970 UTC. `values`
    holds integers, separated by commas, in units or in minor currency units. A missing value is
    empty: `1250,`. `marks` holds words, separated by blanks, for example `count late`.
    """

    day: str
    seconds: int
    values: str
    cells: tuple[str, ...]
    note: str
    marks: str


def stock_chart(days: Iterable[StockDay]) -> list[ChartDay]:
    """Return one row per day: on-hand at its end, its last count and its movements."""
    return [
        _row(day.day_us, [day.closing_units], units_text, _moved(day), _marks(day)) for day in days
    ]


def demand_chart(days: Iterable[DemandDay]) -> list[ChartDay]:
    """Return one row per day: the units sold, and the demand that the rules learn from the day.

    A day has the mark `out` if the rules learn nothing from it, because the key was out of stock
    too long. It has the mark `part` if the key was out of stock for a shorter time.
    """
    return [
        ChartDay(
            *_day(day.day_us),
            str(day.sold_units),
            (units_text(day.sold_units), micro_text(day.observed_micro)),
            _demand_note(day),
            _demand_mark(day),
        )
        for day in days
    ]


def price_chart(days: Iterable[PriceDay]) -> list[ChartDay]:
    """Return one row per day: the price at its end, and the lowest price of the 30 days before.

    `values` has both in minor currency units.
    """
    return [_row(day.day_us, [day.price_minor, day.lowest_minor], amount_text) for day in days]


def _row(
    day_us: int,
    values: list[int | None],
    text: Callable[[int | None], str],
    note: str = "",
    marks: str = "",
) -> ChartDay:
    shown = ",".join("" if one is None else str(one) for one in values)
    return ChartDay(*_day(day_us), shown, tuple(map(text, values)), note, marks)


def _day(day_us: int) -> tuple[str, int]:
    return time_text(day_us)[:10], day_us // 1_000_000


def _moved(day: StockDay) -> str:
    parts = (
        []
        if day.counted_units is None
        else [
            gettext("counted %(counted_units)s") % {"counted_units": units_text(day.counted_units)}
        ]
    )
    parts += [f"{gettext(cause)} {signed_units_text(units)}" for cause, units in day.moved]
    parts += [counted_text(day.late_facts, "late fact")] * bool(day.late_facts)
    return ", ".join(parts)


def _marks(day: StockDay) -> str:
    marks = ["count"] * (day.counted_units is not None)
    marks += [_MARKS[cause] for cause, _ in day.moved if cause in _MARKS]
    marks += ["late"] * bool(day.late_facts)
    return " ".join(marks)


def _demand_note(day: DemandDay) -> str:
    if day.reason in _REASONS:
        return _REASONS[day.reason]
    if not day.out_windows:
        return ""
    text = ngettext(
        "out of stock for %(out)s of %(trading)s window",
        "out of stock for %(out)s of %(trading)s windows",
        day.trading_windows,
    )
    return text % {"out": day.out_windows, "trading": day.trading_windows}


def _demand_mark(day: DemandDay) -> str:
    if day.reason == OUT:
        return "out"
    return "part" if day.out_windows else ""

"""Texts and columns of a comparison, the same in the terminal and on the page. No I/O."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from analytics.backfill.diff.comparison import Diff
from analytics.backfill.diff.difference import CHANGED, COURSE, EXPLANATION, ONLY_A, ONLY_B
from analytics.backfill.diff.revised import PRICE, REORDER
from analytics.backfill.diff.sides import Sides
from inventory.explain.formatting import money_text, units_text

KIND_TITLES: Final = {REORDER: "Reorders", PRICE: "Prices"}
CLASS_TEXTS: Final = {
    ONLY_A: "B has no such need or proposal",
    ONLY_B: "A has no such need or proposal",
    CHANGED: "A and B differ in quantity, supplier, unit cost or price",
    COURSE: (
        "A and B open, amend or close the decision at different records, or its outcome differs"
    ),
    EXPLANATION: "the same decision; only terms, flags or reasons differ",
}
TOTAL_COLUMNS: Final = ("total", "A", "B", "B minus A")
COUNT_COLUMNS: Final = (
    *("kind", "equal", "only A", "only B", "changed", "course", "explanation only"),
)
GROUP_COLUMNS: Final = (
    *("group", "differences", "only A", "only B", "changed", "course", "explanation only"),
    "B minus A",
)
_COMMON: Final = ("class", "store", "item", "reason", "week", "first record")
_OWN: Final = {
    REORDER: ("supplier", "A units", "B units", "A cost", "B cost", "B minus A"),
    PRICE: ("A price", "B price", "B minus A"),
}
# Columns of texts, here and in tables of the page. The cells of all other columns are numbers.
TEXT_COLUMNS: Final = frozenset({"total", "kind", "group", "meaning", "supplier", "", *_COMMON})


def row_columns(kind: str) -> tuple[str, ...]:
    """Return the headings of the ranked table of one kind."""
    return (*_COMMON, *_OWN[kind])


def row_cells(kind: str, row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the table cells of one difference as text. A dash is an absent value."""
    record = f"{row['partition']}@{row['first_offset']}"
    common = (row["how"], row["store"], row["sku"], row["reason"], row["week"], record)
    delta = money_text(row["delta_minor"])
    if kind == PRICE:
        return (*common, *_money(row, "new_minor"), delta)
    units = tuple(units_text(row.get(f"{side}_quantity_units")) for side in "ab")
    return (*common, row["supplier"] or "", *units, *_money(row, "amount_minor"), delta)


def group_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the table cells of one group as text."""
    counts = tuple(units_text(row[name]) for name in ("differing", *CLASS_TEXTS))
    return (str(row["value"]), *counts, money_text(row["delta_minor"]))


def total_rows(found: Diff[Sides]) -> Iterator[tuple[str, ...]]:
    """Yield the totals of both runs, over equal and differing decisions."""
    for kind, title in KIND_TITLES.items():
        ours, theirs = found.totals[kind].sides
        yield _total(title, ours.count, theirs.count, units_text)
        if kind == REORDER:
            yield _total(f"{title}, units", ours.units, theirs.units, units_text)
            yield _total(f"{title}, cost", ours.minor, theirs.minor, money_text)


def count_rows(found: Diff[Sides]) -> Iterator[tuple[str, ...]]:
    """Yield a row per kind: the number of equal decisions, then of each class of differences."""
    for kind, title in KIND_TITLES.items():
        counts = (found.totals[kind].equal, *(found.sums(kind)[how] for how in CLASS_TEXTS))
        yield (title, *(units_text(count) for count in counts))


def hidden_text(hidden: int, step: str) -> str:
    """Return a text such as `3 rows are not shown; STEP`, or "" if `hidden` is 0.

    `step` is the next step, with which a person sees the hidden rows.
    """
    if hidden <= 0:
        return ""
    rows = "row is" if hidden == 1 else "rows are"
    return f"{units_text(hidden)} {rows} not shown; {step}"


def _money(row: Mapping[str, Any], name: str) -> tuple[str, str]:
    return money_text(row.get(f"a_{name}")), money_text(row.get(f"b_{name}"))


def _total(title: str, ours: int, theirs: int, text: Callable[[int], str]) -> tuple[str, ...]:
    return title, text(ours), text(theirs), text(theirs - ours)

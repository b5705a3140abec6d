"""Texts of the desk History: names of requests, of classes of differences, and of columns."""

import shlex
from collections.abc import Mapping
from typing import Any, Final

from django.conf import settings
from django.utils.translation import gettext

from cdc.contracts import history_requests as kinds
from cdc.contracts.history_requests import command_of
from inventory.explain.formatting import centidays_text, micro_text, money_text, units_text
from ledger.messages import gettext_noop

KINDS: Final[Mapping[str, str]] = {
    kinds.RUN: gettext_noop("Recompute history"),
    kinds.COMPARE: gettext_noop("Compare two runs"),
    kinds.EXPLAIN: gettext_noop("Explain one key"),
    kinds.REVIEW: gettext_noop("Request a review"),
    kinds.PUBLISH: gettext_noop("Publish a run"),
    kinds.SHADOW: gettext_noop("Run in the shadow"),
    kinds.CUTOVER: gettext_noop("Cut over"),
    kinds.ROLLBACK: gettext_noop("Roll back"),
    kinds.PROVE: gettext_noop("Prove the live state"),
    kinds.QUESTION: gettext_noop("Ask a question"),
    kinds.QUERY: gettext_noop("Query history"),
}
# Name and meaning of each class of difference, as the page shows them.
CLASSES: Final[Mapping[str, str]] = {
    "only_a": gettext_noop("Only A"),
    "only_b": gettext_noop("Only B"),
    "changed": gettext_noop("Changed"),
    "course": gettext_noop("Different steps"),
    "explanation": gettext_noop("Explanation only"),
}
MEANINGS: Final[Mapping[str, str]] = {
    "only_a": gettext_noop("Run B has no such need or proposal"),
    "only_b": gettext_noop("Run A has no such need or proposal"),
    "changed": gettext_noop("A and B differ in quantity, supplier, unit cost or price"),
    "course": gettext_noop(
        "A and B open, amend or close the decision at different records, or its outcome differs"
    ),
    "explanation": gettext_noop("the same decision; only terms, flags or reasons differ"),
}
DIMENSIONS: Final = ("store", "supplier", "reason", "week")
REORDER, PRICE = "reorder", "price"
# {suffix of a column's name: function that returns the text of a cell}. Headings leave out the
# suffix: it states the unit of the stored numbers, and the texts have larger units.
_TEXTS: Final = {"_minor": money_text, "_micro": micro_text, "_centidays": centidays_text}
KIND_TITLES: Final[Mapping[str, str]] = {
    REORDER: gettext_noop("Reorders"),
    PRICE: gettext_noop("Prices"),
}


def command_text(kind: str, arguments: Mapping[str, str], actor: str) -> str:
    """Return the command to paste into a terminal, with `--by=actor` if it records a person."""
    extra: tuple[str, ...] = (f"--by={actor}",) if kind in _NAMES_PERSON else ()
    words = [one for one in command_of(kind, arguments, extra) if one != "--"]
    return shlex.join(("inventory", *words))


_NAMES_PERSON: Final = frozenset({kinds.REVIEW, kinds.CUTOVER, kinds.ROLLBACK})


def column_title(name: str) -> str:
    """Return the heading for the name of a column or term: `Lost` for `lost_minor`."""
    for end in _TEXTS:
        name = name.removesuffix(end)
    text = name.replace("_", " ")
    return text[:1].upper() + text[1:]


def answer_title(name: str) -> str:
    """Return the heading of an answer's column in the page's language: `Lost, EUR`."""
    title = gettext(column_title(name))
    if not name.endswith("_minor"):
        return title
    return gettext("%(title)s, %(currency)s") % {"title": title, "currency": settings.CURRENCY}


def cell_text(name: str, cell: Any) -> str:  # noqa: ANN401 -- a JSON value
    """Return a cell of the column `name` as pages show it.

    Money has decimals, time spans are in days, and integers have digits in groups: `1,200`. None is
    a dash.
    """
    if cell is None:
        return "–"
    if not is_number(cell):
        return ", ".join(map(str, cell)) if isinstance(cell, list) else str(cell)
    for end, text in _TEXTS.items():
        if name.endswith(end):
            return str(text(round(cell)))  # a mean is no whole number
    return f"{cell:,.2f}" if isinstance(cell, float) else str(units_text(cell))


def is_number(cell: Any) -> bool:  # noqa: ANN401 -- a JSON value
    """Return True for an int or a float, but not for a bool."""
    return isinstance(cell, int | float) and not isinstance(cell, bool)

"""Filters of a comparison of two runs, as links with numbers of differences.

A difference is a need or price that the runs decided differently. `backfill diff` lists all
differences.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlencode

from django.utils.translation import gettext

from webui.desks.history.queries import Filters
from webui.desks.history.wording import CLASSES, DIMENSIONS, KIND_TITLES, MEANINGS, column_title

_MOST_GROUPS: Final = 20


@dataclass(frozen=True, slots=True)
class Choice:
    """A filter as a link: its text, meaning and URL, and the number of differences that fit it.

    `delta_minor` is the money of run B minus the money of run A, in minor units.
    """

    text: str
    count: int
    delta_minor: int
    meaning: str
    url: str
    is_current: bool


def url_of(wanted: Filters, **more: object) -> str:
    """Return a query string with the filters and the parameters `more`; leave out empty values."""
    given = {name: getattr(wanted, name) for name in Filters.__slots__} | more
    return "?" + urlencode({name: text for name, text in given.items() if text})


def kind_choices(document: Mapping[str, Any], wanted: Filters) -> list[Choice]:
    """Return the choices "reorders" and "prices", each with its number of differences."""
    return [
        Choice(
            title,
            document[f"{kind}s"].get("differing", 0),
            document[f"{kind}s"].get("delta_minor", 0),
            "",
            url_of(Filters(kind)),
            kind == wanted.kind,
        )
        for kind, title in KIND_TITLES.items()
    ]


def class_choices(document: Mapping[str, Any], wanted: Filters, by: str) -> list[Choice]:
    """Return the choice "All", and one choice per class of difference, for example "Only A".

    Each choice has its number of differences. Its URL keeps the grouping `by`.
    """
    counts = document[f"{wanted.kind}s"]
    every = Choice(
        gettext("All"),
        counts.get("differing", 0),
        0,
        "",
        url_of(replace(wanted, how=""), by=by),
        not wanted.how,
    )
    return [
        every,
        *(
            Choice(
                text,
                counts.get(how, 0),
                0,
                MEANINGS[how],
                url_of(replace(wanted, how=how), by=by),
                how == wanted.how,
            )
            for how, text in CLASSES.items()
        ),
    ]


def group_choices(
    document: Mapping[str, Any], wanted: Filters, by: str
) -> list[tuple[Choice, Any]]:
    """Return up to 20 pairs (choice, its row in `document`), one per value of the column `by`.

    With `store` as `by`, each choice selects the differences of one store.
    """
    rows = [
        row
        for row in document.get("groups", [])
        if (row["kind"], row["dimension"]) == (wanted.kind, by)
    ]
    return [
        (
            Choice(
                _group_text(by, row["value"]),
                row["differing"],
                row["delta_minor"],
                "",
                url_of(replace(wanted, **{by: str(row["value"] or "")}), by=by),
                getattr(wanted, by) == str(row["value"]),
            ),
            row,
        )
        for row in rows[:_MOST_GROUPS]
    ]


def _group_text(by: str, found: object) -> str:
    text = str(found or "–")
    return column_title(text) if by == "reason" else text


def chosen_filters(wanted: Filters, by: str) -> list[tuple[str, str, str]]:
    """Return (name, value as text, URL without this filter) for each chosen filter."""
    return [
        (
            name,
            _group_text(name, getattr(wanted, name)),
            url_of(replace(wanted, **{name: ""}), by=by),
        )
        for name in DIMENSIONS
        if getattr(wanted, name)
    ]

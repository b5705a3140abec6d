"""Pages that compare two runs (recomputations of history): differences, and one key in detail."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from cdc.contracts import history_requests as kinds
from ledger.requests.queries import Request, result_of, same_request, snapshot
from webui.accounts.roles import SEE_HISTORY, requires
from webui.desks.history.cards import card_of, chosen_runs, newest_cards, runs_of
from webui.desks.history.choices import (
    chosen_filters,
    class_choices,
    group_choices,
    kind_choices,
    url_of,
)
from webui.desks.history.queries import (
    PAGE_ROWS,
    Filters,
    difference_count,
    difference_rows,
    switches,
)
from webui.desks.history.views import known
from webui.desks.history.wording import (
    DIMENSIONS,
    KIND_TITLES,
    REORDER,
)
from webui.shell.commands import query_text
from webui.shell.fields import is_digits
from webui.shell.page import render_page

MOST_SHOWN = 20
_LONGEST = 80


@require_GET
@requires(SEE_HISTORY, company=True)
def comparisons(request: HttpRequest) -> HttpResponse:
    """Show the newest comparisons, and a form that requests another comparison."""
    cards = newest_cards(request.user.get_username(), kinds.COMPARE, most=MOST_SHOWN)
    runs, decided = [run for run in runs_of(snapshot()) if run.is_comparable], switches()
    context = {
        "view": "differences",
        "cards": cards,
        "is_open": any(card.request.is_open for card in cards),
        "runs": runs,
        "typed": chosen_runs(runs, decided[0].revision if decided else None),
        "command_id": uuid4(),
    }
    return render_page(request, "history/comparisons.html", context)


@require_GET
@requires(SEE_HISTORY, company=True)
def difference(request: HttpRequest, number: int) -> HttpResponse:
    """Show one comparison: totals, groups, and up to 50 differences that fit the filters."""
    found, document = _comparison(number)
    wanted = _filters(request)
    by = query_text(request, "by", _LONGEST)
    by = by if by in DIMENSIONS else DIMENSIONS[0]
    behind = query_text(request, "after", _LONGEST)
    skipped = int(behind) if is_digits(behind) else 0
    total = difference_count(number, wanted)
    context = {
        "view": "differences",
        "card": card_of(found, request.user.get_username()),
        "found": document,
        "sides": _sides(document),
        "kinds": kind_choices(document, wanted),
        "classes": class_choices(document, wanted, by),
        "by": by,
        "dimensions": [(name, url_of(wanted, by=name), name == by) for name in DIMENSIONS],
        "groups": group_choices(document, wanted, by),
        "chosen": chosen_filters(wanted, by),
        "rows": difference_rows(number, wanted, behind=skipped),
        "is_reorder": wanted.kind == REORDER,
        "total": total,
        "first": skipped + 1,
        "last": min(skipped + PAGE_ROWS, total),
        "not_kept": document.get("rows_not_shown", {}).get(wanted.kind, 0),
        "previous_url": url_of(wanted, by=by, after=max(0, skipped - PAGE_ROWS)) if skipped else "",
        "next_url": (
            url_of(wanted, by=by, after=skipped + PAGE_ROWS) if skipped + PAGE_ROWS < total else ""
        ),
        "may_be_reviewed": _may_be_reviewed(document),
        "command_id": uuid4(),
    }
    return render_page(request, "history/difference.html", context)


@require_GET
@requires(SEE_HISTORY, company=True)
def key(request: HttpRequest, number: int) -> HttpResponse:
    """Show up to 50 differences of one key for reorders, and up to 50 for prices.

    If a person has requested the explanation, show also the first record at which A and B differ.
    """
    found, document = _comparison(number)
    inv_key = query_text(request, "key", 60)
    rows = [
        row for kind in KIND_TITLES for row in difference_rows(number, Filters(kind, key=inv_key))
    ]
    if not rows:
        message = f"The comparison has no difference of the key {inv_key}."
        raise Http404(message)
    given = {name: document[name].get("run", kinds.LIVE) for name in ("a", "b")}
    asked = same_request(kinds.EXPLAIN, given | {"key": inv_key})
    explained = None if asked is None or not asked.has_result else result_of(asked.id)
    context = {
        "view": "differences",
        "number": number,
        "card": card_of(found, request.user.get_username()),
        "inv_key": inv_key,
        "rows": rows,
        "given": given,
        "asked": asked,
        "is_open": asked is not None and asked.is_open,
        "explained": explained,
        "sections": _sections(explained),
        "command_id": uuid4(),
    }
    return render_page(request, "history/key.html", context)


def _comparison(number: int) -> tuple[Request, Mapping[str, Any]]:
    found = known(number)
    document = result_of(number) if found.kind == kinds.COMPARE else None
    if not isinstance(document, dict):
        message = f"Request {number} has no comparison."
        raise Http404(message)
    return found, document


def _filters(request: HttpRequest) -> Filters:
    kind = query_text(request, "kind", _LONGEST)
    names = ("how", "reason", "week", "store", "supplier")
    given = {name: query_text(request, name, _LONGEST) for name in names}
    return Filters(kind if kind in KIND_TITLES else REORDER, **given)


def _sides(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the sides A and B of a comparison, each with the totals of its decisions."""
    return [
        {
            "name": name.upper(),
            **document[name],
            "reorders": document["reorders"][name],
            "prices": document["prices"][name],
        }
        for name in "ab"
    ]


def _may_be_reviewed(document: Mapping[str, Any]) -> bool:
    """Return True if the sides are runs of two logic revisions that decided differently."""
    revisions = [document[name].get("logic_revision") for name in "ab"]
    is_of_runs = all(document[name].get("run") for name in "ab")
    return is_of_runs and revisions[0] != revisions[1] and not document["equal"]


def _sections(explained: Any) -> list[tuple[str, list[dict[str, Any]]]]:  # noqa: ANN401 -- JSON
    """Return an explanation's lines by section, each with `differs`: True if A and B differ."""
    found: dict[str, list[dict[str, Any]]] = {}
    for line in (explained or {}).get("lines", []):
        marked = line | {"differs": line["a"] != line["b"]}
        found.setdefault(line["section"], []).append(marked)
    return list(found.items())

"""The buyer's desk: the table of needs, and the commands on the picked ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote, urlencode
from uuid import uuid4

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from ledger.kernel.refusal_text import refusal_text
from ledger.services import Conflict, NotOrdered, ServiceError
from webui.accounts.roles import DECIDE_REORDERS, SEE, requires
from webui.desks.reorders.commands import approve_one, approve_picked, send_picked
from webui.desks.reorders.forms import PicksForm
from webui.desks.reorders.queries import desk_version, names_of, overview
from webui.desks.reorders.sends import sends_of
from webui.desks.reorders.table import (
    DEFAULT_SORT,
    ROUTINE,
    SORTS,
    NeedRow,
    Total,
    Wanted,
    need_rows,
    totals,
)
from webui.desks.reorders.templatetags.needs import currency_mark
from webui.shell.commands import next_cards
from webui.shell.desk import Refusal, view_of
from webui.shell.forms import NextCardForm
from webui.shell.page import render_page

VIEWS: Final = ("open", "held", "closed")
PAGE_ROWS = 40
MOST_COUNTED = 1000
# Column, heading, class of its cells. The first click on a figure sorts the largest first.
COLUMNS: Final = (
    ("item", "Item", "item"),
    ("store", "Store", "store"),
    ("on_hand", "On hand", "n"),
    ("cover", "Cover", "n"),
    ("units", "Suggestion", "ask"),
    ("money", "Money", "n"),
)
_LARGEST_FIRST: Final = frozenset({"money", "units"})


@dataclass(frozen=True, slots=True)
class Row:
    """A need with what a person typed in its row, the reason why that was refused, and its pick."""

    need: NeedRow
    packs: int | str
    refusal: str
    is_picked: bool


@dataclass(frozen=True, slots=True)
class Section:
    """Needs under one heading; `total` is that of all pages, None for needs that are closed."""

    number: int
    rows: Sequence[Row]
    total: Total | None

    @property
    def is_routine(self) -> bool:
        """True if the needs of the section can be picked as a whole without a look at each."""
        return self.number == ROUTINE


@dataclass(frozen=True, slots=True)
class Heading:
    """A column's heading: the address that sorts by it, and how the table is sorted by it now."""

    label: str
    kind: str
    query: str
    direction: str


@require_GET
@requires(SEE)
def reorders(request: HttpRequest) -> HttpResponse:
    """Show open, held or closed needs as a table."""
    return show_desk(request, None)


def show_desk(
    request: HttpRequest,
    refusal: Refusal | None,
    *,
    report: Sequence[NotOrdered] = (),
    form: PicksForm | None = None,
) -> HttpResponse:
    """Show the table with the reason of a refusal, or with the needs that were not ordered."""
    wanted = _wanted(request)
    given = {"view": wanted.view, "location": wanted.location, "supplier": wanted.supplier}
    # Read before the list: a change in between must look new to the polling page.
    around = overview(**given, most=MOST_COUNTED)
    found, has_more = need_rows(wanted, PAGE_ROWS)
    counted = {total.section: total for total in totals(wanted)} if wanted.view != "closed" else {}
    sections = _sections(found, counted, refusal, form)
    first = _first(wanted)
    context = {
        "view": wanted.view,
        "views": VIEWS,
        "sections": sections,
        "headings": _headings(wanted),
        **around.as_context(),
        "most": MOST_COUNTED,
        "shown": len(found),
        "value_minor": sum(total.value_minor for total in counted.values()),
        **given,
        "refusal": None if any(row.refusal for s in sections for row in s.rows) else refusal,
        "report": names_of(report),
        "sends": sends_of(request.user.get_username()),
        "version_url": reverse("reorders-version"),
        "query": query_of(request),
        **_pages(wanted, found, has_more=has_more),
        "first": urlencode(first) if wanted.after or wanted.before else "",
        "bulk_id": uuid4(),
        "currency_mark": currency_mark(),
    }
    status = 200 if refusal is None else refusal.status
    return render_page(request, "reorders/desk.html", context, status=status)


def _wanted(request: HttpRequest) -> Wanted:
    view, sort = view_of(request, VIEWS), request.GET.get("sort", "")
    default = "-updated" if view == "closed" else DEFAULT_SORT
    return Wanted(
        view=view,
        location=request.GET.get("location", "")[:24],
        supplier=request.GET.get("supplier", "")[:64],
        sort=sort if sort.removeprefix("-") in SORTS else default,
        after=request.GET.get("after", ""),
        before="" if request.GET.get("after") else request.GET.get("before", ""),
    )


def _first(wanted: Wanted) -> dict[str, str]:
    """Return the query of the first page with these filters and this sort."""
    given = {"view": wanted.view, "location": wanted.location, "supplier": wanted.supplier}
    return given | ({"sort": wanted.sort} if wanted.sort != DEFAULT_SORT else {})


def query_of(request: HttpRequest) -> str:
    """Return the query of the list that the person came from, for links and forms."""
    kept = ("view", "location", "supplier", "sort", "after", "before")
    return urlencode({name: request.GET[name] for name in kept if request.GET.get(name)})


def _pages(wanted: Wanted, found: Sequence[NeedRow], *, has_more: bool) -> dict[str, str]:
    """Return the queries of the previous and the next page, empty where there is none."""
    first, is_back = _first(wanted), bool(wanted.before)
    has_previous = has_more if is_back else bool(wanted.after)
    has_next = is_back or has_more
    before = urlencode(first | {"before": found[0].cursor}) if found and has_previous else ""
    after = urlencode(first | {"after": found[-1].cursor}) if found and has_next else ""
    return {"previous": before, "next": after}


def _headings(wanted: Wanted) -> list[Heading]:
    return [_heading(wanted, *column) for column in COLUMNS]


def _heading(wanted: Wanted, name: str, label: str, kind: str) -> Heading:
    at_first = f"-{name}" if name in _LARGEST_FIRST else name
    other = name if at_first.startswith("-") else f"-{name}"
    sort = other if wanted.sort == at_first else at_first
    query = urlencode(_first(replace(wanted, sort=sort)))
    is_sorted = wanted.sort.removeprefix("-") == name
    direction = "descending" if wanted.sort.startswith("-") else "ascending"
    return Heading(label, kind, query, direction if is_sorted else "")


def _sections(
    found: Sequence[NeedRow],
    counted: dict[int, Total],
    refusal: Refusal | None,
    form: PicksForm | None,
) -> list[Section]:
    typed = form.packs if form else {}
    picked = set(form.data.getlist("pick")) if form else set()
    rows = [
        Row(
            need,
            typed.get(need.reorder_id, need.packs),
            refusal.message if refusal and refusal.proposal == need.reorder_id else "",
            f"{need.revision}@{need.reorder_id}" in picked,
        )
        for need in found
    ]
    return [
        Section(number, part, counted.get(number))
        for number in sorted({row.need.section for row in rows})
        if (part := [row for row in rows if row.need.section == number])
    ]


@require_GET
@requires(SEE)
def version(_request: HttpRequest) -> JsonResponse:
    """Return a text that changes with any need or send. Open pages request it every 2 s."""
    return JsonResponse({"version": desk_version()})


@require_POST
@requires(DECIDE_REORDERS)
def approve(request: HttpRequest) -> HttpResponse:
    """Approve one need or every picked one, or approve and send them in ten seconds.

    Needs that could not be ordered are listed with the reason; the others are ordered.
    """
    form = PicksForm(request.POST)
    one = form.text("one").partition("@")[2]
    back = after_decision(request, one) if one else _back(request)
    try:
        values = form.cleaned()
        if values["one"] is not None:
            messages.success(request, approve_one(form, request.user))
            return HttpResponseRedirect(back)
        work = send_picked if values["do"] == "send" else approve_picked
        done = work(form, request.user)
    except Conflict as conflict:
        return show_desk(request, Refusal(one, conflict.text, form.typed, 409), form=form)
    except ServiceError as error:
        return show_desk(request, Refusal(one, refusal_text(error), form.typed, 422), form=form)
    if done.message:
        messages.success(request, done.message)
    if not done.others:
        return HttpResponseRedirect(back)
    return show_desk(request, None, report=done.others, form=form)


def _back(request: HttpRequest) -> str:
    return f"{reverse('reorders')}?{query_of(request)}".rstrip("?")


def after_decision(request: HttpRequest, reorder_id: str) -> str:
    """Return the address of the list at the row behind this need; call it before the decision.

    Without the row, a long list would scroll to its top after every decision.
    """
    if NextCardForm(request.POST).cleaned()["next"]:
        return _back(request)  # the form names the row itself
    found, _more = need_rows(_wanted(request), PAGE_ROWS)
    behind = next_cards([need.reorder_id for need in found]).get(reorder_id, "")
    return _back(request) + (f"#{quote(behind, safe='')}" if behind else "")

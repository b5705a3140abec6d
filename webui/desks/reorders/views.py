"""The buyer's desk: the table of needs, and the commands on picked needs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote, urlencode
from uuid import uuid4

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from ledger.kernel.amounts import currency_mark
from ledger.messages import gettext_noop
from ledger.ordering.plausibility import is_far_beyond
from ledger.services import Conflict, NotOrdered, ServiceError
from webui.accounts.roles import DECIDE_REORDERS, SEE, abilities, requires
from webui.desks.reorders.commands import approve_one, approve_picked, send_picked
from webui.desks.reorders.forms import PicksForm
from webui.desks.reorders.queries import desk_version, name_of, names_of, overview
from webui.desks.reorders.table import (
    DEFAULT_SORT,
    ROUTINE,
    SORTS,
    NeedRow,
    Total,
    Wanted,
    need_page,
    without_crafted_cursor,
)
from webui.desks.sends.views import sends_of
from webui.shell.commands import next_cards
from webui.shell.desk import Refusal, view_of
from webui.shell.forms import NextCardForm
from webui.shell.listing import (
    Column,
    Heading,
    Pages,
    Sort,
    address,
    cursor_pages,
    headings,
    sort_of,
    sorted_query,
)
from webui.shell.page import render_page
from webui.shell.refusals import conflict_text, refused_text

VIEWS: Final = ("open", "held", "closed")
PAGE_ROWS: Final = 50
# Rows of each section if both sections have needs.
HALF: Final = PAGE_ROWS // 2
MOST_COUNTED = 1000
COLUMNS: Final = (
    Column("item", gettext_noop("Item"), "item"),
    Column("store", gettext_noop("Store"), "store"),
    Column("on_hand", gettext_noop("On hand"), "n"),
    Column("cover", gettext_noop("Lasts"), "n"),
    Column("units", gettext_noop("Suggestion"), "ask", largest_first=True),
    Column("money", gettext_noop("Money"), "n", largest_first=True),
    Column("urgency", gettext_noop("Reason"), "reason"),
)
PICK: Final = Column("", gettext_noop("Pick"), "tick", is_hidden=True)
APPROVE: Final = Column("", gettext_noop("Approve"), "do", is_hidden=True)


@dataclass(frozen=True, slots=True)
class Row:
    """A need, the packs typed in its row, the message of a refusal, and whether its row is ticked.

    `far_units` is the typed quantity if it is far beyond the suggestion, so that a person can
    confirm it; else None.
    """

    need: NeedRow
    packs: int | str
    refusal: str = ""
    is_picked: bool = False
    far_units: int | None = None


@dataclass(frozen=True, slots=True)
class Typed:
    """A person's input that was refused, in full or in part. The page shows the input again."""

    refusal: Refusal | None
    form: PicksForm | None

    def row(self, need: NeedRow) -> Row:
        """Return the row of a need, with the typed packs and the tick of the refused form."""
        mine = self.refusal is not None and self.refusal.proposal == need.reorder_id
        if self.form is None:
            return Row(need, need.packs)
        typed = self.form.units_in_packs(need.reorder_id, need.input_pack) or 0
        return Row(
            need,
            self.form.packs.get(need.reorder_id, need.packs),
            self.refusal.message if mine and self.refusal else "",
            is_picked=self.form.picks_again(need.reorder_id),
            far_units=typed if is_far_beyond(typed, need.quantity_units or 0) else None,
        )


@dataclass(frozen=True, slots=True)
class Section:
    """Needs under one heading. `total` covers all pages; it is None for closed needs."""

    number: int
    rows: Sequence[Row]
    total: Total | None
    pages: Pages

    @property
    def is_routine(self) -> bool:
        """True if a person may pick all needs of the section without looking at each need."""
        return self.number == ROUTINE


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
    # Read the version before the list. Otherwise a page would miss a change between the two reads.
    around = overview(**given, most=MOST_COUNTED)
    page = need_page(wanted, PAGE_ROWS + 1)
    counted = {total.section: total for total in page.totals}
    sections = _sections(wanted, page.rows, counted, Typed(refusal, form))
    context = {
        "view": wanted.view,
        "views": VIEWS,
        "sections": sections,
        "headings": _headings(wanted, may_decide=DECIDE_REORDERS in abilities(request.user)),
        **around.as_context(),
        "most": MOST_COUNTED,
        "shown": sum(len(section.rows) for section in sections),
        "total": sum(total.needs for total in counted.values()) if counted else around.total,
        "value_minor": sum(total.value_minor for total in counted.values()),
        **given,
        "refusal": None if any(row.refusal for s in sections for row in s.rows) else refusal,
        "refused_need": _name_of_refused(refusal),
        "report": names_of(report),
        "reported": len(report),
        "sends": sends_of(request.user.get_username()),
        "version_url": reverse("reorders-version"),
        "query": query_of(request),
        "first": _first_page(wanted),
        "bulk_id": uuid4(),
        "currency_mark": currency_mark(),
    }
    status = 200 if refusal is None else refusal.status
    return render_page(request, "reorders/desk.html", context, status=status)


def _name_of_refused(refusal: Refusal | None) -> str:
    """Return the name of the refused need; an empty text if no need or several were refused."""
    name = name_of(refusal.proposal) if refusal and refusal.proposal else ""
    return name if refusal and name != refusal.proposal else ""


def _wanted(request: HttpRequest) -> Wanted:
    view = view_of(request, VIEWS)
    wanted = Wanted(
        view=view,
        location=request.GET.get("location", "")[:24],
        supplier=request.GET.get("supplier", "")[:64],
        sort=sort_of(request.GET.get("sort", ""), SORTS, default_sort(view)).text,
        after=request.GET.get("after", ""),
        before="" if request.GET.get("after") else request.GET.get("before", ""),
    )
    return without_crafted_cursor(wanted)


def default_sort(view: str) -> Sort:
    """Return the sort order of a view; the view of closed needs begins with the newest."""
    return Sort("updated", descending=True) if view == "closed" else Sort(DEFAULT_SORT)


def _filters(wanted: Wanted) -> dict[str, object]:
    return {"view": wanted.view, "location": wanted.location, "supplier": wanted.supplier}


def _first(wanted: Wanted) -> dict[str, object]:
    """Return the query parameters of the first page with these filters and this sort."""
    return sorted_query(_filters(wanted), wanted.order, default_sort(wanted.view))


def _first_page(wanted: Wanted) -> str:
    """Return the URL of the first page, or an empty text if `wanted` is the first page."""
    return address(_first(wanted)) if wanted.after or wanted.before else ""


def query_of(request: HttpRequest) -> str:
    """Return the query string of the list that the person came from, for links and forms."""
    kept = ("view", "location", "supplier", "sort", "after", "before")
    return urlencode({name: request.GET[name] for name in kept if request.GET.get(name)})


def _headings(wanted: Wanted, *, may_decide: bool) -> list[Heading]:
    columns = (PICK, *COLUMNS, APPROVE) if wanted.view == "open" and may_decide else COLUMNS
    default = default_sort(wanted.view)
    return headings(columns, wanted.order, _filters(wanted), default=default)


def _sections(
    wanted: Wanted, found: Sequence[NeedRow], counted: dict[int, Total], typed: Typed
) -> list[Section]:
    numbers = sorted({need.section for need in found})
    most = PAGE_ROWS if len(numbers) == 1 else HALF
    return [
        _section(wanted, [need for need in found if need.section == number], most, counted, typed)
        for number in numbers
    ]


def _section(
    wanted: Wanted, found: Sequence[NeedRow], most: int, counted: dict[int, Total], typed: Typed
) -> Section:
    is_back, has_more = bool(wanted.before), len(found) > most
    shown = found[-most:] if is_back else found[:most]
    has_previous = has_more if is_back else bool(wanted.after)
    pages = cursor_pages(
        _first(wanted),
        previous=shown[0].cursor if has_previous else "",
        following=shown[-1].cursor if is_back or has_more else "",
        rows=most,
    )
    return Section(
        number=shown[0].section,
        rows=[typed.row(need) for need in shown],
        total=counted.get(shown[0].section) or _total_of(wanted, shown),
        # A page with a cursor shows one section. The link to the first page leads to both sections.
        pages=replace(pages, first=_first_page(wanted)),
    )


def _total_of(wanted: Wanted, shown: Sequence[NeedRow]) -> Total | None:
    """Return the total of the shown rows, or None for the view of closed needs.

    The page shows this total if the query of totals returned none for the section of these rows.
    """
    if wanted.view == "closed":
        return None
    value = sum(need.value_minor for need in shown)
    return Total(section=shown[0].section, needs=len(shown), value_minor=value)


@require_GET
@requires(SEE)
def version(_request: HttpRequest) -> JsonResponse:
    """Return a text that changes when a need or send changes. Pages request it every 2 s."""
    return JsonResponse({"version": desk_version()})


@require_POST
@requires(DECIDE_REORDERS)
def approve(request: HttpRequest) -> HttpResponse:
    """Approve one need or all picked needs now, or approve and send picked needs in ten seconds.

    The page lists the needs that can't be ordered, with the reasons. The command still applies to
    all other needs.
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
        return show_desk(
            request, Refusal(one, conflict_text(conflict), _kept(form, one), 409), form=form
        )
    except ServiceError as error:
        refusal = Refusal(one, refused_text(error), _kept(form, one), 422)
        return show_desk(request, refusal, form=form)
    if done.message:
        messages.success(request, done.message)
    if not done.others:
        return HttpResponseRedirect(back)
    return show_desk(request, None, report=done.others, form=form)


def _kept(form: PicksForm, one: str) -> dict[str, str]:
    """Return the typed packs of the refused need, for a page that doesn't show the need's row."""
    return {"packs": form.packs.get(one, "")} if one else {}


def _back(request: HttpRequest) -> str:
    return f"{reverse('reorders')}?{query_of(request)}".rstrip("?")


def after_decision(request: HttpRequest, reorder_id: str) -> str:
    """Return the URL of the list, with the row to show next as fragment.

    Call this before the decision. The fragment names the next row of the same section. If the need
    is the last one of its section, the fragment names the row before it. Without the fragment, a
    long list would scroll to its top after every decision.
    """
    if NextCardForm(request.POST).cleaned()["next"]:
        return _back(request)  # the redirect adds the row that the form names
    found = need_page(_wanted(request), PAGE_ROWS).rows
    mine = {need.section for need in found if need.reorder_id == reorder_id}
    ids = [need.reorder_id for need in found if need.section in mine]
    behind = next_cards(ids).get(reorder_id, "")
    return _back(request) + (f"#{quote(behind, safe='')}" if behind else "")

"""The page of one need: its arithmetic, the reasons why no rule orders it, and forms to decide.

The table of needs shows the element `#need` of this page in an expanding row. Without
JavaScript, the row's link opens this page.
"""

from typing import Final
from uuid import uuid4

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET, require_POST

from inventory.replenishment.attention import BELOW_ZERO, MAYBE_MISSING, SENTENCES
from ledger.messages import Message, joined
from ledger.ordering.plausibility import is_far_beyond
from ledger.reorders.automatic import why_not
from ledger.services import ServiceError
from webui.accounts.roles import DECIDE_REORDERS, ORDER_ODD_UNITS, SEE, abilities, requires
from webui.desks.orders.forms import QuantityForm
from webui.desks.reorders.cards import NeedCard, PartInput, TransferOffer
from webui.desks.reorders.commands import execute
from webui.desks.reorders.forms import FIRST_PARTS
from webui.desks.reorders.queries import Source, is_phantom_suspect, order_of, sources_of
from webui.desks.reorders.views import after_decision, query_of, show_desk
from webui.readmodel import proposals as selectors
from webui.readmodel.choices import suppliers
from webui.readmodel.decision_terms import need_steps
from webui.shell.desk import Refusal, answer
from webui.shell.forms import DecisionForm, Typed
from webui.shell.page import render_page

LONGEST_ID: Final = 128


@require_GET
@requires(SEE)
def need(request: HttpRequest) -> HttpResponse:
    """Show one need with its complete arithmetic and the forms of its decisions."""
    return _show(request, request.GET.get("id", "")[:LONGEST_ID], None)


@require_POST
@requires(DECIDE_REORDERS)
def decide(request: HttpRequest) -> HttpResponse:
    """Approve, split, cover by a transfer, reject, snooze or resume one need."""
    may = abilities(request.user)
    proposal = DecisionForm(request.POST).text("proposal")[:LONGEST_ID]
    return answer(
        request,
        lambda command: execute(command, odd_units_allowed=ORDER_ODD_UNITS in may),
        lambda _request, refusal: _show(request, proposal, refusal),
        after_decision(request, proposal),
    )


def _show(request: HttpRequest, reorder_id: str, refusal: Refusal | None) -> HttpResponse:
    found = selectors.reorder_proposal(reorder_id)
    if found is None:
        if refusal is not None:
            return show_desk(request, refusal)
        nothing = {"query": query_of(request)}
        return render_page(request, "reorders/none.html", nothing, status=404)
    card = _card(found, refusal)
    if refusal is not None and not card.shows_forms:
        # Another decision has closed this need. Show the list, where the person can decide others.
        return show_desk(request, refusal)
    context = {
        "card": card,
        "proposal": found,
        "suppliers": suppliers(),
        "query": query_of(request),
        "next_cards": {},
    }
    status = 200 if refusal is None else refusal.status
    return render_page(request, "reorders/need.html", context, status=status)


def _card(found: selectors.ReorderProposal, refusal: Refusal | None) -> NeedCard:
    is_undecided = found.status == "open" and found.actionable
    form: Typed = refusal.form if refusal else {}
    split = form if form.get("action") == "split" else {}
    return NeedCard(
        proposal=found,
        arithmetic=need_steps(found.terms),
        refusal=refusal,
        # After a refusal, show the input again, even if workers are about to process a decision of
        # another person.
        shows_forms=found.actionable or (refusal is not None and found.status == "open"),
        units=form.get("units", "") if refusal else found.quantity_units,
        far_units=_far_units(found, form),
        reason=form.get("reason", ""),
        days=form.get("days", "7"),
        command_id=uuid4(),
        waits_because=why_not([found.reorder_id]).get(found.reorder_id) if is_undecided else None,
        order_ref=order_of(found.reorder_id) if found.decided_action == "approve" else "",
        ignored=_ignored(found) if is_undecided else "",
        parts=[
            PartInput(
                number=number,
                units=split.get(f"units{number}", ""),
                supplier=split.get(f"supplier{number}", found.supplier),
                due_on=split.get(f"due_on{number}", ""),
            )
            for number in FIRST_PARTS
        ],
        transfer=_transfer(found, form, sources_of([found])) if is_undecided else None,
    )


def _far_units(found: selectors.ReorderProposal, form: Typed) -> int | None:
    """Return the refused quantity if it is far beyond the suggestion, else None."""
    if form.get("action") not in {"approve", "split"}:
        return None
    try:
        units: int = QuantityForm(form).cleaned()["units"]
    except ServiceError:
        return None
    return units if is_far_beyond(units, found.quantity_units or 0) else None


def _ignored(found: selectors.ReorderProposal) -> str:
    """Return the need's warnings that don't stop an automatic order, as one text (domain.md 7)."""
    warnings = (
        (BELOW_ZERO, found.on_hand_units is not None and found.on_hand_units < 0),
        (MAYBE_MISSING, is_phantom_suspect(found.inv_key)),
    )
    return joined([Message(SENTENCES[code]) for code, applies in warnings if applies], "; ")


def _transfer(
    found: selectors.ReorderProposal, form: Typed, sources: dict[str, list[Source]]
) -> TransferOffer | None:
    """Return the fields of the form for a transfer; None if no location has spare units.

    After a refusal, the fields have the typed texts.
    """
    spare = sources.get(found.reorder_id)
    if not spare:
        return None
    typed = form if form.get("action") == "transfer" else {}
    return TransferOffer(
        sources=spare,
        is_open=bool(typed),
        source=typed.get("source", spare[0].location),
        units=typed.get("units", min(found.quantity_units or 1, spare[0].units)),
        due_on=typed.get("due_on", ""),
    )

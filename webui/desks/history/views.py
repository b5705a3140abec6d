"""Pages of the desk History for runs, requests and recorded proofs."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import uuid4

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from cdc.contracts import history_requests as kinds
from ledger.requests.queries import DONE, Request, request_with, result_of, snapshot
from ledger.requests.service import cancel_request, confirm_request
from webui.accounts.roles import SEE_HISTORY, requires
from webui.desks.history.cards import (
    card_of,
    chosen_runs,
    newest_cards,
    present_run,
    runs_of,
)
from webui.desks.history.forms import CONFIRM, ActForm
from webui.desks.history.queries import recorded_proofs, switches
from webui.desks.history.wording import cell_text, command_text
from webui.shell.commands import run_command
from webui.shell.desk import Refusal
from webui.shell.page import render_page

# Fields of a command's report that the page of its request shows, in this order.
_SHOWN: Final = (
    *("run", "digest", "records", "keys", "units", "seconds", "directory", "revision", "code"),
    *("verdict", "requested_by", "former", "partitions_written"),
)
# Fields of a comparison of two revisions. Each is a number of keys, and each key with an open
# decision counts in one of them.
_COUNTS: Final = ("equal", "only_former", "only_new", "changed", "explanation", "moving")


@require_GET
@requires(SEE_HISTORY, company=True)
def history(request: HttpRequest) -> HttpResponse:
    """Show the archive, the progress of runs, the newest requests, and a form for a new run."""
    return show_runs(request, None)


def show_runs(request: HttpRequest, refusal: Refusal | None) -> HttpResponse:
    """Show the page *Runs*. After a refusal, its fields have the typed texts."""
    actor = request.user.get_username()
    cards, found, decided = newest_cards(actor), snapshot(), switches()
    runs = runs_of(found)
    chosen = chosen_runs(runs, decided[0].revision if decided else None)
    context = {
        "view": "runs",
        "cards": cards,
        "is_open": any(card.request.is_open for card in cards),
        "runs": runs,
        "archive": None if found is None else found.document.get("archive", {}),
        "seen_at": None if found is None else found.at,
        "switch": decided[0] if decided else None,
        "command_id": uuid4(),
        "refusal": refusal,
        "typed": chosen | dict(refusal.form) if refusal else chosen,
    }
    status = 200 if refusal is None else refusal.status
    return render_page(request, "history/runs.html", context, status=status)


@require_GET
@requires(SEE_HISTORY, company=True)
def request_page(request: HttpRequest, number: int) -> HttpResponse:
    """Show one request: its command, progress, result or problem."""
    return _show_request(request, number, None)


def _show_request(request: HttpRequest, number: int, refusal: Refusal | None) -> HttpResponse:
    found = known(number)
    actor, document = request.user.get_username(), result_of(number)
    context = {
        "view": "runs",
        "card": card_of(found, actor),
        "facts": _facts(document),
        "comparisons": _comparisons(document),
        "sides": _sides_to_compare(found, document),
        "is_mine": found.requested_by == actor,
        "again_id": uuid4(),
        "refusal": refusal,
    }
    status = 200 if refusal is None else refusal.status
    return render_page(request, "history/request.html", context, status=status)


def _sides_to_compare(found: Request, document: Any) -> dict[str, str]:  # noqa: ANN401 -- JSON
    """Return the runs to preselect for a comparison: {"a": name, "b": the run of this request}.

    Return {} if the request isn't a finished run.
    """
    run = document.get("run") if isinstance(document, dict) else None
    if found.kind != kinds.RUN or found.state != DONE or not run:
        return {}
    decided, records = switches(), document.get("records")
    deciding = decided[0].revision if decided else None
    return {"a": present_run(runs_of(snapshot()), deciding, like=run, records=records), "b": run}


def known(number: int) -> Request:
    """Return the request with this number; raise `Http404` if there is none."""
    found = request_with(number)
    if found is None:
        message = f"There is no request {number}."
        raise Http404(message)
    return found


@dataclass(frozen=True, slots=True)
class RevisionComparison:
    """One comparison of the deciding revision with another one.

    `counts` has numbers of keys in the order of `_COUNTS`. `unapproved` is the number of differing
    keys that no approved review covers. If a switch made the comparison, `at` and `unapproved` are
    None, because the record of a switch has neither.
    """

    former: int
    revision: int
    at: datetime | None
    counts: list[int]
    unapproved: int | None


def _comparisons(document: Any) -> list[RevisionComparison]:  # noqa: ANN401 -- JSON of any command
    """Return the comparisons that a shadow, a cut-over or a roll-back printed, oldest first."""
    found = document if isinstance(document, list) else [document]
    return [
        RevisionComparison(
            one["former"],
            one["revision"],
            datetime.fromtimestamp(one["at_s"], UTC) if "at_s" in one else None,
            [one.get(name, 0) for name in _COUNTS],
            one.get("unapproved"),
        )
        for one in found
        if isinstance(one, dict) and "only_former" in one
    ]


def _facts(document: Any) -> list[tuple[str, object]]:  # noqa: ANN401 -- JSON of any command
    """Return the fields to show from a command's report, or from the last of several reports."""
    last = document[-1] if isinstance(document, list) and document else document
    if not isinstance(last, dict):
        return []
    return [
        (name.replace("_", " "), cell_text(name, last[name])) for name in _SHOWN if name in last
    ]


@require_POST
@requires(SEE_HISTORY, company=True)
def act(request: HttpRequest, number: int) -> HttpResponse:
    """Confirm a request (operators only), or cancel it (only its author and operators)."""
    known(number)
    form = ActForm(request.POST)

    def work() -> str:
        given = form.cleaned()
        actor, command_id = request.user.get_username(), given["command_id"]
        if given["action"] == CONFIRM:
            confirm_request(number, actor=actor, command_id=command_id)
            return gettext("Confirmed. The work starts within seconds.")
        cancel_request(number, actor=actor, command_id=command_id)
        return gettext("Cancelled. Nothing was started.")

    def show(message: str, status: int) -> HttpResponse:
        return _show_request(request, number, Refusal("", message, form.typed, status))

    return run_command(request, work, show, reverse("history-request", args=[number]))


@require_GET
@requires(SEE_HISTORY, company=True)
def proofs(request: HttpRequest) -> HttpResponse:
    """Show the recorded proofs, newest first, and a form that requests the next proof."""
    actor = request.user.get_username()
    cards = newest_cards(actor, kinds.PROVE, most=1)
    context = {
        "view": "proofs",
        "proofs": recorded_proofs(),
        "newest": cards[0] if cards and cards[0].request.is_open else None,
        "is_open": bool(cards) and cards[0].request.is_open,
        "command": command_text(kinds.PROVE, {}, actor),
        "command_id": uuid4(),
    }
    return render_page(request, "history/proofs.html", context)

"""Pages for reviews of the difference between two logic revisions.

A second person approves or rejects the difference. After an approval, the page shows the commands
that promote the new revision, or return to the former one.
"""

import json
from dataclasses import dataclass
from typing import Final
from uuid import UUID, uuid4

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from cdc.contracts import history_requests as kinds
from ledger.messages import gettext_noop
from ledger.requests.queries import DONE, Request, comparison_with, newest_requests
from ledger.reviews import queries as reviewed
from ledger.reviews.queries import APPROVED, Review
from ledger.reviews.service import Decision, decide_review, withdraw_review
from webui.accounts.roles import SEE_HISTORY, requires
from webui.desks.history.cards import Card, card_of
from webui.desks.history.forms import LONGEST_REASON, VerdictForm
from webui.desks.history.queries import Switch, switches
from webui.desks.history.wording import KINDS, command_text
from webui.shell.commands import run_command
from webui.shell.desk import Refusal
from webui.shell.page import render_page

SHOWN_CHARS: Final = 12
_MOST_REQUESTS: Final = 100
_ABOUT: Final = {
    kinds.PUBLISH: gettext_noop(
        "Write the states of run B of this review into the changelogs of the revision."
    ),
    kinds.SHADOW: gettext_noop(
        "Start the revision's workers beside the stack. Compare their decisions three times with "
        "those of the stack."
    ),
    kinds.CUTOVER: gettext_noop(
        "Compare once more, then switch. After the switch, the desks show only the needs of this "
        "revision."
    ),
    kinds.ROLLBACK: gettext_noop("Let the former revision decide again."),
}
DONE_TEXTS: Final = {
    APPROVED: gettext_noop("Approved."),
    "rejected": gettext_noop("Rejected."),
    "withdrawn": gettext_noop("Withdrawn."),
}


@dataclass(frozen=True, slots=True)
class Step:
    """One step after an approval: its description, its command, and its newest request.

    `is_due` is True if a person may request the step now:

    * a publication after the approval, until it is done or the revision decides;
    * a shadow (a trial beside the deciding revision) and a cut-over after the approval, until the
      revision decides;
    * a rollback while the revision decides, if the switch may be reversed.

    `switch` is the newest switch of the deciding revision if this step made it, else None. The step
    may have been requested on a page or executed in a terminal.
    """

    kind: str
    title: str
    about: str
    arguments: dict[str, str]
    command: str
    newest: Card | None
    switch: Switch | None
    is_due: bool
    command_id: UUID


@require_GET
@requires(SEE_HISTORY, company=True)
def review_list(request: HttpRequest) -> HttpResponse:
    """Show the reviews of logic changes with their verdicts, and the deciding revision."""
    context = {"view": "reviews", "reviews": reviewed.reviews(), "switches": switches()}
    return render_page(request, "history/reviews.html", context)


@require_GET
@requires(SEE_HISTORY, company=True)
def review(request: HttpRequest, number: int) -> HttpResponse:
    """Show the review of a logic change: difference, verdict, and steps to switch and roll back."""
    return _show(request, number, None)


def _show(request: HttpRequest, number: int, refusal: Refusal | None) -> HttpResponse:
    found, actor = _known(number), request.user.get_username()
    now = next(iter(switches()), None)
    is_deciding = now is not None and now.revision == found.revision
    steps = _steps(found, actor, now)
    context = {
        "view": "reviews",
        "review": found,
        "short": found.digest[:SHOWN_CHARS],
        "summary": json.loads(found.summary),
        "is_mine": found.requested_by == actor,
        "is_decided": found.verdict in (APPROVED, "rejected"),
        "is_deciding": is_deciding,
        "difference": comparison_with(found.digest),
        "steps": steps,
        "is_open": any(step.newest and step.newest.request.is_open for step in steps),
        "command_id": uuid4(),
        "longest": LONGEST_REASON,
        "refusal": refusal,
        "typed": refusal.form if refusal else {},
    }
    status = 200 if refusal is None else refusal.status
    return render_page(request, "history/review.html", context, status=status)


@require_POST
@requires(SEE_HISTORY, company=True)
def decide(request: HttpRequest, number: int) -> HttpResponse:
    """Approve, reject or withdraw a review, by the rules of `ledger.reviews.service`."""
    found = _known(number)
    form = VerdictForm(request.POST)

    def work() -> str:
        given, actor = form.cleaned(), request.user.get_username()
        verdict, reason = given["action"], given["reason"][:LONGEST_REASON]
        if verdict == reviewed.WITHDRAWN:
            withdraw_review(found, reason, actor=actor, command_id=given["command_id"])
        else:
            decision = Decision(verdict, reason, given["growth"] or 0)
            decide_review(found, decision, actor=actor, command_id=given["command_id"])
        return gettext(DONE_TEXTS[verdict])

    def show(message: str, status: int) -> HttpResponse:
        return _show(request, number, Refusal("", message, form.typed, status))

    return run_command(request, work, show, reverse("history-review", args=[number]))


def _known(number: int) -> Review:
    found = reviewed.review_with(number)
    if found is None:
        message = f"There is no review {number}."
        raise Http404(message)
    return found


def _steps(found: Review, actor: str, now: Switch | None) -> list[Step]:
    """Return the steps after an approval of the review `found`, in the order of `_ABOUT`.

    `now` is the newest switch, or None if there is none.
    """
    asked = newest_requests([*_ABOUT], _MOST_REQUESTS)
    steps = []
    for kind, about in _ABOUT.items():
        arguments = _arguments(kind, found)
        same = (one for one in asked if (one.kind, one.given) == (kind, arguments))
        newest = next((one for one in same if one.requested_at >= found.requested_at), None)
        step = Step(
            kind,
            KINDS[kind],
            about,
            arguments,
            command_text(kind, arguments, actor),
            None if newest is None else card_of(newest, actor),
            _switch_of(kind, found, now),
            _is_due(kind, found, now, newest),
            uuid4(),
        )
        steps.append(step)
    return steps


def _arguments(kind: str, found: Review) -> dict[str, str]:
    """Return the arguments of the step `kind` of a review."""
    if kind == kinds.ROLLBACK:
        return {}
    if kind == kinds.PUBLISH:
        return {"run": found.runs[1]}  # the run that the reviewer has compared
    return {"revision": str(found.revision), "approval": found.digest}


def _switch_of(kind: str, found: Review, now: Switch | None) -> Switch | None:
    """Return the newest switch `now` if the step `kind` of this review made it, else None.

    A cut-over switches to the review's revision. A rollback switches back from it.
    """
    if now is None or now.former is None:
        return None
    if kind == kinds.CUTOVER and now.revision == found.revision:
        return now
    is_back = kind == kinds.ROLLBACK and now.is_rollback and now.former == found.revision
    return now if is_back else None


def _is_due(kind: str, found: Review, now: Switch | None, newest: Request | None) -> bool:
    is_deciding = now is not None and now.revision == found.revision
    if kind == kinds.ROLLBACK:
        return is_deciding and now is not None and now.may_be_reversed
    if found.verdict != APPROVED or is_deciding:
        return False
    return not (kind == kinds.PUBLISH and _is_done(newest, now))


def _is_done(newest: Request | None, now: Switch | None) -> bool:
    """Return True if the request `newest` is done, and finished after the newest switch `now`."""
    if newest is None or newest.state != DONE or newest.finished_at is None:
        return False
    return now is None or newest.finished_at > now.switched_at

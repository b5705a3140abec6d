"""The view that records requests to the prover. All forms that make such a request use it."""

from collections.abc import Mapping
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from cdc.contracts import history_requests as kinds
from ledger.kernel.errors import ServiceError
from ledger.messages import gettext_noop
from ledger.requests.service import ask_history
from webui.accounts.roles import SEE_HISTORY, requires
from webui.desks.history.answers import show_questions
from webui.desks.history.forms import AskForm
from webui.desks.history.views import show_runs
from webui.desks.history.wording import KINDS
from webui.shell.commands import run_and_redirect
from webui.shell.desk import Refusal
from webui.shell.fields import is_digits


@require_POST
@requires(SEE_HISTORY, company=True)
def ask(request: HttpRequest) -> HttpResponse:
    """Record a request, and redirect to the page with its result.

    Everyone with the right `see_history` can request the explanation of a key. Only analysts and
    operators can make other requests.
    """
    form = AskForm(request.POST)

    def work() -> tuple[str, str]:
        wanted, page = form.wanted(), ""
        if wanted.kind == kinds.EXPLAIN:
            page = _key_url(wanted.arguments, form.text("difference"))
        actor, command_id = request.user.get_username(), form.cleaned()["command_id"]
        number = ask_history(wanted, actor=actor, command_id=command_id)
        if page:
            return gettext("The explanation is requested."), page
        return gettext("Asked: %(kinds)s.") % {"kinds": KINDS[wanted.kind]}, reverse(
            "history-request", args=[number]
        )

    def show(message: str, status: int) -> HttpResponse:
        refusal = Refusal("", message, form.typed, status)
        is_question = form.text("kind") in (kinds.QUESTION, kinds.QUERY)
        return (show_questions if is_question else show_runs)(request, refusal)

    return run_and_redirect(request, work, show)


def _key_url(arguments: Mapping[str, str], difference: str) -> str:
    if not is_digits(difference):
        field = "form"
        raise ServiceError(field, difference, gettext_noop("this page is out of date: reload it"))
    target = reverse("history-key", args=[int(difference)])
    return f"{target}?{urlencode({'key': arguments.get('key', '')})}"

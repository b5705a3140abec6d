"""Commands of all desks: execute a command once, and show its result or its refusal.

After a refusal, the page shows the input again. The status is 409 if something has changed since
the page was rendered, and 422 if the input breaks a rule.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Final
from urllib.parse import quote

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext

from ledger.kernel.refusal_text import names_text
from ledger.services import Conflict, ServiceError
from webui.shell.forms import NextCardForm, Typed
from webui.shell.refusals import conflict_text, refused_text
from webui.translation.messages import translate

_LONGEST_ID: Final = 200


def query_text(request: HttpRequest, name: str, longest: int) -> str:
    """Return a query parameter, stripped and cut to `longest` characters."""
    return str(request.GET.get(name, "")).strip()[:longest]


def item_from_query(request: HttpRequest) -> Typed:
    """Return location and SKU from the query string, or empty texts if they are missing."""
    return {"location": query_text(request, "location", 24), "sku": query_text(request, "sku", 32)}


def changed_text(columns: Collection[str]) -> str:
    """Return the message that names the changed columns, or the message that nothing changed."""
    return (
        gettext("Changed: %(columns)s.") % {"columns": names_text(columns, translate)}
        if columns
        else gettext("Nothing changed.")
    )


def run_and_redirect(
    request: HttpRequest,
    work: Callable[[], tuple[str, str]],
    show: Callable[[str, int], HttpResponse],
) -> HttpResponse:
    """Execute `work` and redirect with its message, or `show` the refusal with its status.

    `work` returns the message, or an empty text for none, and the URL of the next page.
    """
    try:
        message, back = work()
    except Conflict as conflict:
        return show(conflict_text(conflict), 409)
    except ServiceError as error:
        return show(refused_text(error), 422)
    if message:
        messages.success(request, message)
    return HttpResponseRedirect(back + _fragment(request))


def _fragment(request: HttpRequest) -> str:
    """Return the URL fragment of the next card that the form names, or an empty string."""
    card = NextCardForm(request.POST).cleaned()["next"][:_LONGEST_ID]
    return f"#{quote(card, safe='')}" if card else ""


def next_cards(ids: Sequence[str]) -> dict[str, str]:
    """Return {id of a card: id of the card to show after a decision on it}.

    This is the next card; for the last card, it is the card before. Without this id, a long page
    would scroll to its top after every decision.
    """
    behind = [*ids[1:], *ids[-2:-1]]
    return dict(zip(ids, behind, strict=False))


def run_command(
    request: HttpRequest,
    work: Callable[[], str],
    show: Callable[[str, int], HttpResponse],
    back: str,
) -> HttpResponse:
    """Execute `work` and redirect to `back` with its message, or `show` the refusal."""
    return run_and_redirect(request, lambda: (work(), back), show)

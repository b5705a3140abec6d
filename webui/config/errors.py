"""Error responses of failed pages, for people and programs.

Only the response 403 shows the text of its exception.
"""

import sys
from dataclasses import dataclass
from typing import Any, Final

from django.contrib.auth.models import AnonymousUser
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template import loader
from django.views.csrf import csrf_failure
from django.views.defaults import page_not_found, permission_denied, server_error

from ledger.messages import translated
from webui.accounts.refusals import REASON
from webui.accounts.sessions import lacks_second_factor
from webui.shell.page import frame_of
from webui.shell.refusals import named
from webui.translation.messages import translate

RETRY_S = 5


@dataclass(frozen=True, slots=True)
class RetryLater:
    """A 503 response that asks for a retry: a template for people, a text for programs."""

    template: str
    error: str


UNAVAILABLE: Final = RetryLater(
    "503.html",
    "the database does not answer; your request was written as a whole or not at all;"
    " try again in a moment",
)
CONFLICT: Final = RetryLater(
    "conflict.html",
    "another request changed the same rows; nothing was written; send your request again",
)
SLOW: Final = RetryLater(
    "slow.html",
    "the database took too long; your request was written as a whole or not at all;"
    " try again, or ask for less",
)
# Responses by SQLSTATE prefix: no connection, server starting or stopping, conflicts that a retry
# may solve, and timeouts set by webui.config.session_limits.
_BY_STATE: Final = {
    "08": UNAVAILABLE,
    "57P": UNAVAILABLE,
    "40": CONFLICT,
    "57014": SLOW,
    "55P03": SLOW,
}


def handle_forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return 403 with the person's navigation. Store the reason in the request, for `Refusals`."""
    setattr(request, REASON, str(exception))
    if _is_program(request):
        return permission_denied(request, exception)
    context = {**_frame(request), "exception": translated(named(_reason(exception)), translate)}
    return render(request, "403.html", context, status=403)


def _reason(exception: Exception) -> str:
    """Return the exception's first argument if it is a text or `Message`, else `str(exception)`.

    Without an argument, return an empty text.
    """
    given = exception.args[0] if exception.args else ""
    return given if isinstance(given, str) else str(exception)


def handle_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return 404 with the person's navigation."""
    if _is_program(request):
        return page_not_found(request, exception)
    return render(request, "404.html", _frame(request), status=404)


def _frame(request: HttpRequest) -> dict[str, Any]:
    """Return the values of the navigation for a person who is logged in; {} for others."""
    user = getattr(request, "user", AnonymousUser())
    if not user.is_authenticated or lacks_second_factor(request.session, user):
        return {}
    return frame_of(request, "")


def handle_csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Return 403 for a form without a valid CSRF token.

    Store the reason in the request, for `Refusals`.
    """
    setattr(request, REASON, reason)
    if _is_program(request):
        return csrf_failure(request, reason)
    return render(request, "old_form.html", _frame(request), status=403)


def handle_server_error(request: HttpRequest) -> HttpResponse:
    """Return 503 if the database is unreachable or a retry may help, else 500."""
    failure = sys.exc_info()[1]
    later = None
    if isinstance(failure, OperationalError | InterfaceError):
        later = _retry_later(getattr(failure.__cause__, "sqlstate", None))
    if later is None:
        return server_error(request)
    headers = {"Retry-After": str(RETRY_S)}
    if _is_program(request):
        return JsonResponse({"error": later.error}, status=503, headers=headers)
    page = loader.get_template(later.template).render()
    return HttpResponse(page, status=503, headers=headers)


def _retry_later(state: str | None) -> RetryLater | None:
    if state is None:
        return UNAVAILABLE
    return next((each for start, each in _BY_STATE.items() if state.startswith(start)), None)


def _is_program(request: HttpRequest) -> bool:
    """Return True for a request that accepts JSON and not HTML."""
    accepted = request.headers.get("Accept", "")
    return "application/json" in accepted and "text/html" not in accepted

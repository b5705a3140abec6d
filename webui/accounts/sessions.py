"""Rules that end sessions: inactivity, maximum length, and a missing second factor.

`SessionRules` runs after Django's authentication. Live updates and repeated requests of scripts
don't count as activity, so an open page alone doesn't extend its session.
"""

import time
from collections.abc import Container, Mapping
from typing import Any, Final
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth import logout
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden, HttpResponseRedirect
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext

from webui.accounts import audit, second_factor
from webui.accounts.session_store import ACTIVE, BEGAN, SOURCE
from webui.accounts.sources import source_of

SECOND_FACTOR: Final = "second_factor_at"
# The last use is stored at most once a minute, to avoid a write for each request.
_NOTED_EVERY_S: Final = 60
_SAFE: Final = ("GET", "HEAD")
# Header of requests that a script sends repeatedly, without an action of a person (`js/swap.js`).
_POLL: Final = "X-Poll"
# Routes that a person may use before a required second factor is set up: the page for it, the
# logout, and the choice of the language.
_WITHOUT_SECOND_FACTOR: Final = ("second-factor", "logout", "language")


def end_reason(session: Mapping[str, Any], now: float) -> str | None:
    """Return the reason for which a session has ended at `now`, or None if it has not.

    `now` is in seconds since 1970 UTC. The reason is "idle" after a time without requests, or
    "long" after the maximum length.
    """
    if now - session.get(ACTIVE, now) > settings.SESSION_IDLE_S:
        return "idle"
    if now - session.get(BEGAN, now) > settings.SESSION_LONGEST_S:
        return "long"
    return None


def lacks_second_factor(session: Container[str], person: User | AnonymousUser) -> bool:
    """Return True if the person's roles need a second factor and this session has none."""
    return SECOND_FACTOR not in session and second_factor.is_required(person)


class SessionRules(MiddlewareMixin):
    """Middleware that ends sessions, and requires the second factor for roles that need one."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        """Return a redirect to the login or the second factor, a refusal, or None to continue."""
        if request.path.startswith(settings.STATIC_URL) or request.path == reverse("live-stream"):
            return None
        if not request.user.is_authenticated:
            return None
        now = time.time()
        if (reason := end_reason(request.session, now)) is not None:
            audit.note("session_ended", request.user, source=source_of(request), reason=reason)
            logout(request)
            return _to_login(request, reason)
        is_old = now - request.session.get(ACTIVE, 0.0) > _NOTED_EVERY_S
        if is_old and _POLL not in request.headers:
            request.session.setdefault(BEGAN, now)
            request.session[ACTIVE] = now
            request.session[SOURCE] = source_of(request)
        return self._without_second_factor(request)

    def _without_second_factor(self, request: HttpRequest) -> HttpResponse | None:
        if not lacks_second_factor(request.session, request.user):
            return None
        if request.path in map(reverse, _WITHOUT_SECOND_FACTOR):
            return None
        if request.method not in _SAFE:
            text = gettext(
                "This role needs a second factor. Nothing was changed. Set it up, then try again."
            )
            return HttpResponseForbidden(text, content_type="text/plain; charset=utf-8")
        return HttpResponseRedirect(reverse("second-factor"))


def _to_login(request: HttpRequest, reason: str) -> HttpResponse:
    asked = request.get_full_path() if request.method in _SAFE else "/"
    query = urlencode({"next": asked, "ended": reason})
    return HttpResponseRedirect(f"{reverse('login')}?{query}")

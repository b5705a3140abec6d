"""Page on which a person sets up, replaces or removes their second factor."""

import time
from typing import Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from webui.accounts import attempts, audit, second_factor
from webui.accounts.attempts import Attempt
from webui.accounts.encryption import SecretUnreadable, decrypted, encrypted
from webui.accounts.forms import CodeForm, FactorForm
from webui.accounts.sessions import SECOND_FACTOR
from webui.accounts.sources import source_of
from webui.accounts.views import UNREADABLE, WRONG, answer_attempt, desk_of

# Entry of the session with the encrypted secret that the page shows. A first code confirms the
# secret and removes the entry.
_OFFERED: Final = "offered_secret"


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest) -> HttpResponse:
    """Show the secret to scan; store it after a correct code, or remove the second factor."""
    return answer_attempt(request, _shown, _execute)


def _execute(request: HttpRequest, user: User, attempt: Attempt) -> HttpResponse:
    form = FactorForm(request.POST)
    match form.cleaned_data["action"] if form.is_valid() else "":
        case "enrol":
            return _enrolled(request, user, attempt)
        case "remove":
            return _removed(request, user, attempt)
        case _:
            return _shown(request, user, status=WRONG, wrong=True)


def _may_change(request: HttpRequest, user: User) -> bool:
    """Return True if this session may change the authenticator.

    If an authenticator is confirmed, the session must have passed the second factor.
    """
    return SECOND_FACTOR in request.session or not second_factor.is_enrolled(user)


def _enrolled(request: HttpRequest, user: User, attempt: Attempt) -> HttpResponse:
    if _OFFERED not in request.session or not _may_change(request, user):
        return redirect("second-factor")
    secret = _offered(request, user)
    step = second_factor.step_of(secret, CodeForm(request.POST).typed)
    if step is None:
        return _shown(request, user, status=WRONG, wrong=True)
    attempts.succeeded(attempt)
    codes = second_factor.enrol(user, secret, step)
    del request.session[_OFFERED]
    request.session.cycle_key()
    request.session[SECOND_FACTOR] = time.time()
    audit.note("second_factor_set", user, source=source_of(request))
    return render(request, "accounts/recovery.html", {"codes": codes, "desk": desk_of(user)})


def _removed(request: HttpRequest, user: User, attempt: Attempt) -> HttpResponse:
    if second_factor.is_required(user):
        messages.error(
            request, gettext("Your role needs a second factor. The second factor was not removed.")
        )
        return redirect("second-factor")
    try:
        factor = second_factor.accept(user, CodeForm(request.POST).typed)
    except SecretUnreadable:
        return _shown(request, user, status=UNREADABLE, unreadable=True)
    if factor is None:
        audit.note("second_factor_failed", user, source=source_of(request))
        return _shown(request, user, status=WRONG, wrong=True)
    attempts.succeeded(attempt)
    second_factor.reset(user.pk)
    request.session.pop(SECOND_FACTOR, None)
    audit.note("second_factor_removed", user, source=source_of(request))
    messages.success(request, gettext("The second factor was removed."))
    return redirect("second-factor")


def _offered(request: HttpRequest, user: User) -> str:
    """Return the secret that the page shows to scan, and that no code has confirmed yet.

    The session keeps this secret encrypted. If the session has none that can be decrypted, make a
    new one.
    """
    try:
        return decrypted(user.pk, request.session.get(_OFFERED, ""))
    except SecretUnreadable:
        secret = second_factor.new_secret()
        request.session[_OFFERED] = encrypted(user.pk, secret)
        return secret


def _shown(
    request: HttpRequest, user: User, *, status: int = 200, **context: object
) -> HttpResponse:
    secret = _offered(request, user)
    required = second_factor.is_required(user)
    found = {
        "is_enrolled": second_factor.is_enrolled(user),
        "may_change": _may_change(request, user),
        "is_required": required,
        "secret": " ".join(secret[at : at + 4] for at in range(0, len(secret), 4)),
        "picture": second_factor.picture_of(second_factor.address_of(user, secret)),
        "desk": desk_of(user),
    }
    return render(request, "accounts/second_factor.html", {**found, **context}, status=status)

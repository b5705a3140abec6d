"""Page on which a person sees their sessions and ends them."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from webui.accounts import attempts, audit
from webui.accounts.attempts import Attempt
from webui.accounts.forms import EndForm
from webui.accounts.open_sessions import end_sessions, open_sessions
from webui.accounts.sources import source_of
from webui.accounts.views import WRONG, answer_attempt, desk_of

OTHERS = "others"


@never_cache
@sensitive_post_parameters("password")
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def sessions(request: HttpRequest) -> HttpResponse:
    """Show the person's sessions. End one, or all others, if the typed password is right."""
    return answer_attempt(request, _shown, _end)


def _end(request: HttpRequest, user: User, attempt: Attempt) -> HttpResponse:
    form = EndForm(request.POST)
    if not form.is_valid() or not user.check_password(form.cleaned_data["password"]):
        audit.note("password_wrong", user, source=source_of(request))
        return _shown(request, user, status=WRONG, wrong=True)
    attempts.succeeded(attempt)
    ended = _ended(request, user, form.cleaned_data["end"])
    if not ended:
        return _shown(request, user, status=WRONG, gone=True)
    audit.note("sessions_ended", user, source=source_of(request), sessions=ended)
    messages.success(
        request, gettext("Sessions ended: %(ended)s. This session continues.") % {"ended": ended}
    )
    return redirect("sessions")


def _ended(request: HttpRequest, user: User, chosen: str) -> int:
    """End the session with the number `chosen`, or all others; return how many have ended."""
    this = request.session.session_key
    if chosen == OTHERS:
        return end_sessions(user.pk, but=this)
    return end_sessions(user.pk, but=this, number=chosen)


def _shown(
    request: HttpRequest, user: User, *, status: int = 200, **context: object
) -> HttpResponse:
    found = open_sessions(user.pk, this_key=request.session.session_key)
    here = {"sessions": found, "desk": desk_of(user), "others": OTHERS}
    return render(request, "accounts/sessions.html", {**here, **context}, status=status)

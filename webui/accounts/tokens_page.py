"""Page on which a person creates and ends their own tokens of the API."""

from typing import Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from ledger.kernel.errors import Conflict, ServiceError
from webui.accounts import attempts, audit
from webui.accounts.api_tokens import LONGEST_DAYS, SCOPES, create_token, end_token, tokens_of
from webui.accounts.attempts import Attempt
from webui.accounts.forms import EndTokenForm, TokenForm
from webui.accounts.sources import source_of
from webui.accounts.views import WRONG, answer_attempt, desk_of
from webui.translation.refusals import refused_text

USUAL_DAYS: Final = 90


@never_cache
@sensitive_post_parameters("password")
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """Show the person's tokens of the API. Create or end one if the typed password is right."""
    return answer_attempt(request, _shown, _change)


def _change(request: HttpRequest, user: User, attempt: Attempt) -> HttpResponse:
    form, end = TokenForm(request.POST), EndTokenForm(request.POST)
    if not user.check_password(form.password_text):
        audit.note("password_wrong", user, source=source_of(request))
        return _shown(request, user, status=WRONG, wrong=True, form=form)
    attempts.succeeded(attempt)
    if end.is_valid():
        return _end(request, user, end.cleaned_data["end"])
    try:
        new = create_token(person=user, actor=user.get_username(), **form.values())
    except (ServiceError, Conflict) as refusal:
        refused = refused_text(refusal) if isinstance(refusal, ServiceError) else f"{refusal}."
        return _shown(request, user, status=WRONG, refused=refused, form=form)
    # Don't redirect: only this response shows the token. On a reload, the browser asks before it
    # sends the form again, so nobody creates a second token by accident.
    return _shown(request, user, new=new)


def _end(request: HttpRequest, user: User, number: int) -> HttpResponse:
    if not end_token(person=user, number=number, actor=user.get_username()):
        return _shown(request, user, status=WRONG, gone=True)
    messages.success(request, gettext("Token %(number)s has ended.") % {"number": number})
    return redirect("tokens")


def _shown(
    request: HttpRequest, user: User, *, status: int = 200, **context: object
) -> HttpResponse:
    here = {
        "tokens": tokens_of(user.pk),
        "scopes": SCOPES.items(),
        "usual_days": USUAL_DAYS,
        "most_days": LONGEST_DAYS,
        "desk": desk_of(user),
    }
    return render(request, "accounts/tokens.html", {**here, **context}, status=status)

"""Page of an invitation on which a person sets their own password once."""

from typing import Final

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from ledger.kernel.errors import Conflict, ServiceError
from ledger.kernel.transactions import ledger_transaction, log_action
from ledger.messages import gettext_noop
from webui.accounts.api_tokens import end_tokens_of_person
from webui.accounts.forms import NewPasswordForm
from webui.accounts.invitations import OpenInvitation, open_invitation, use_invitation
from webui.accounts.open_sessions import end_sessions
from webui.accounts.people import check_password_rules
from webui.translation.refusals import refused_text

GONE: Final = 410
WRONG: Final = 422
_ENDED: Final = gettext_noop("this link was used or has ended meanwhile")


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Ask for a password, and store it. Return status 410 if the link is no longer valid."""
    found = open_invitation(token)
    if found is None:
        return render(request, "accounts/no_invitation.html", status=GONE)
    if request.method != "POST":
        return _show(request, found, "", 200)
    form = NewPasswordForm(request.POST)
    if not form.is_valid():
        return _show(request, found, str(form.non_field_errors()[0]), WRONG)
    try:
        _accept(found, form.cleaned_data["password"])
    except ServiceError as error:
        return _show(
            request,
            found,
            gettext("%(error)s No password was stored.") % {"error": refused_text(error)},
            WRONG,
        )
    except Conflict:
        return render(request, "accounts/no_invitation.html", status=GONE)
    return redirect("login")


def _accept(found: OpenInvitation, password: str) -> None:
    with ledger_transaction():
        user = User.objects.select_for_update().get(pk=found.person_id)
        check_password_rules(password, user)
        if not use_invitation(found.id):
            raise Conflict(_ENDED)
        tokens = end_tokens_of_person(user, found.name)
        user.set_password(password)
        user.save(update_fields=["password"])
        detail = {"sessions": end_sessions(user.pk), "tokens": tokens}
        log_action(actor=found.name, action="accept_invitation", subject=found.name, detail=detail)


def _show(request: HttpRequest, found: OpenInvitation, refusal: str, status: int) -> HttpResponse:
    context = {"name": found.name, "refusal": refusal}
    return render(request, "accounts/invitation.html", context, status=status)

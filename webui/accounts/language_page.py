"""Choice of the language of the pages, kept in a cookie of the device."""

from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from webui.accounts.forms import LanguageForm
from webui.accounts.views import is_own_address

_YEAR_S: Final = 365 * 86_400


@never_cache
@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    """Store the chosen language in a cookie for a year; ignore an unknown language.

    Redirect to the URL in the field `next`, or to the login if it is missing or of another site.
    """
    form = LanguageForm(request.POST)
    code, target = form.code, form.target
    is_own = bool(target) and is_own_address(request, target)
    response = HttpResponseRedirect(target if is_own else reverse("login"))
    if code:
        response.set_cookie(
            settings.LANGUAGE_COOKIE_NAME,
            code,
            max_age=_YEAR_S,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
    return response

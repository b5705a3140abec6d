"""Log in and out."""

from typing import Final

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from typing_extensions import override

from webui.accounts import throttle

TOO_MANY: Final = 429
DESK_OF_ROLE: Final = {"buyer": "/reorders/", "pricing": "/prices/", "operator": "/system/"}


class Login(LoginView):
    """Password login: the same answer for unknown names, 429 after too many failures."""

    template_name = "accounts/login.html"
    redirect_authenticated_user = True

    @override
    def post(self, request: HttpRequest, *args: str, **kwargs: str) -> HttpResponse:
        if throttle.is_throttled(self._address(), self._account()):
            form = self.get_form()
            context = self.get_context_data(form=form, throttled=True)
            return self.render_to_response(context, status=TOO_MANY)
        return super().post(request, *args, **kwargs)

    @override
    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        throttle.forgive(self._account())
        return super().form_valid(form)

    @override
    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        throttle.count_failure(self._address(), self._account())
        return super().form_invalid(form)

    @override
    def get_default_redirect_url(self) -> str:
        """Each role lands on its own desk."""
        user = self.request.user
        if user.is_authenticated:
            for name in user.groups.values_list("name", flat=True):
                if name in DESK_OF_ROLE:
                    return DESK_OF_ROLE[name]
        return super().get_default_redirect_url()

    def _address(self) -> str:
        return str(self.request.META.get("REMOTE_ADDR", ""))

    def _account(self) -> str:
        return self.request.POST.get("username", "")


class Logout(LogoutView):
    """Log out, by POST only."""

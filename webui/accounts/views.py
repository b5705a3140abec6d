"""Log in, in one or two steps, and log out."""

import time
from collections.abc import Callable
from typing import Any, Final, Protocol
from urllib.parse import urlencode

from django.contrib.auth import login, logout
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render, resolve_url
from django.urls import reverse
from django.utils.crypto import constant_time_compare
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST
from typing_extensions import override

from webui.accounts import attempts, audit, devices, second_factor
from webui.accounts.attempts import Attempt
from webui.accounts.encryption import SecretUnreadable
from webui.accounts.forms import AccountForm, CodeForm, NextForm
from webui.accounts.open_sessions import browser_name, forget_expired
from webui.accounts.roles import roles_of
from webui.accounts.session_store import ACTIVE, BEGAN, BROWSER, SOURCE
from webui.accounts.sessions import SECOND_FACTOR
from webui.accounts.sources import source_of

TOO_MANY: Final = 429
WRONG: Final = 422
UNREADABLE: Final = 409
# Entry of the session with the data that a login stores between password and code.
_PENDING: Final = "pending_login"
_PENDING_S: Final = 300
_MINUTE_S: Final = 60


class Login(LoginView):
    """Log in with name and password. An unknown name gets the same response as a wrong password.

    So nobody can find out which accounts exist. After too many attempts, the status is 429.
    """

    template_name = "accounts/login.html"
    redirect_authenticated_user = True

    @override
    def post(self, request: HttpRequest, *args: str, **kwargs: str) -> HttpResponse:
        self.attempt = attempts.begin(
            self._account(),
            source=source_of(request),
            device=devices.device_of(request, self._account()),
        )
        if self.attempt.blocked_for_s:
            return self._blocked()
        return super().post(request, *args, **kwargs)

    @override
    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        attempts.succeeded(self.attempt)
        user = form.get_user()
        target = _asked_page(self.get_redirect_url()) or desk_of(user)
        if second_factor.is_enrolled(user):
            self.request.session.cycle_key()
            self.request.session[_PENDING] = {
                "user": user.pk,
                "password": user.get_session_auth_hash(),
                "at": time.time(),
                "next": target,
            }
            return redirect("login-code")
        return logged_in(self.request, user, target, factor=None)

    @override
    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        user = audit.account_of(self._account())
        audit.note("login_failed", user, source=source_of(self.request))
        return super().form_invalid(form)

    @override
    def get_redirect_url(self, request: HttpRequest | None = None) -> str:
        """Return the URL in the parameter `next`, or "" if it is missing or the login's own URL.

        With the login's own URL, a person who is logged in would be redirected to the login again
        and again.
        """
        target = super().get_redirect_url()
        return "" if target == self.request.path else target

    @override
    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Return the template's values, with the reason why the previous session ended."""
        ended = self.request.GET.get("ended") if self.request.method == "GET" else None
        return super().get_context_data(ended=ended, **kwargs)

    @override
    def get_default_redirect_url(self) -> str:
        user = self.request.user
        return desk_of(user) if isinstance(user, User) else super().get_default_redirect_url()

    def _blocked(self) -> HttpResponse:
        if self.attempt.is_first_block:
            user, limit = audit.account_of(self._account()), self.attempt.limit
            audit.note("login_blocked", user, source=source_of(self.request), limit=limit)
        context = self.get_context_data(form=self.get_form(), wait_minutes=minutes(self.attempt))
        return too_many(self.render_to_response(context), self.attempt)

    def _account(self) -> str:
        return AccountForm(self.request.POST).account


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def code(request: HttpRequest) -> HttpResponse:
    """Ask for a one-time or recovery code as the second step of a login, then log the person in.

    The status is 422 for a wrong code, 429 after too many, and 409 if the stored secret can't be
    decrypted.
    """
    user = _pending_user(request)
    if user is None:
        return redirect("login")
    if request.method != "POST":
        return render(request, "accounts/code.html")
    attempt = attempts.begin_code(user.pk)
    if attempt.blocked_for_s:
        if attempt.is_first_block:
            audit.note("login_blocked", user, source=source_of(request), limit=attempt.limit)
        page = render(request, "accounts/code.html", {"wait_minutes": minutes(attempt)})
        return too_many(page, attempt)
    try:
        factor = second_factor.accept(user, CodeForm(request.POST).typed)
    except SecretUnreadable:
        audit.note("second_factor_unreadable", user, source=source_of(request))
        context = {"unreadable": user.get_username()}
        return render(request, "accounts/code.html", context, status=UNREADABLE)
    if factor is None:
        audit.note("second_factor_failed", user, source=source_of(request))
        return render(request, "accounts/code.html", {"wrong": True}, status=WRONG)
    attempts.succeeded(attempt)
    target = request.session.pop(_PENDING)["next"]
    return logged_in(request, user, str(target), factor=factor)


def _pending_user(request: HttpRequest) -> User | None:
    """Return the person who gave the right password less than five minutes ago, or None.

    Return None, too, if the person has got a new password since then.
    """
    pending = request.session.get(_PENDING)
    if pending is None or time.time() - pending["at"] > _PENDING_S:
        request.session.pop(_PENDING, None)
        return None
    user = User.objects.filter(pk=pending["user"], is_active=True).first()
    given = str(pending.get("password", ""))
    if user is None or not constant_time_compare(given, user.get_session_auth_hash()):
        return None
    return user


def logged_in(request: HttpRequest, user: User, target: str, *, factor: str | None) -> HttpResponse:
    """Start the session, write the audit entry and remember the browser.

    Return a redirect to `target`, or to `/` if `target` is a URL of another site.
    """
    login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    now = time.time()
    request.session[BEGAN] = request.session[ACTIVE] = now
    request.session[BROWSER] = browser_name(request.headers.get("User-Agent", ""))
    request.session[SOURCE] = source_of(request)
    forget_expired()
    if factor is not None:
        request.session[SECOND_FACTOR] = now
    audit.note("login", user, source=source_of(request), second_factor=factor)
    response = HttpResponseRedirect(target if is_own_address(request, target) else resolve_url("/"))
    devices.remember(request, response, user.get_username())
    return response


def is_own_address(request: HttpRequest, target: str) -> bool:
    """Return True if `target` is a URL of this site. A login must not redirect to another site."""
    return url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )


def _asked_page(target: str) -> str:
    """Return the page that a person asked for before the login, or an empty text.

    The path `/` counts as no page, because people open the site or a bookmark of it to log in.
    """
    return "" if target == "/" else target


def desk_of(user: User) -> str:
    """Return the path after a login: the home page for people with a role, else the stock list."""
    return reverse("home") if roles_of(user) else "/"


def minutes(attempt: Attempt) -> int:
    """Return how long an attempt is blocked, in minutes, rounded up."""
    return -(-attempt.blocked_for_s // _MINUTE_S)


class OwnPage(Protocol):
    """A function that renders a page about one's own account with the values in `context`."""

    def __call__(
        self, request: HttpRequest, user: User, *, status: int = 200, **context: object
    ) -> HttpResponse:
        """Return the page."""
        ...


def answer_attempt(
    request: HttpRequest,
    show: OwnPage,
    execute: Callable[[HttpRequest, User, Attempt], HttpResponse],
) -> HttpResponse:
    """Return the page. For a POST, count the attempt and return the response of `execute`.

    After too many attempts, `execute` isn't called: the response is the page with status 429 and
    the minutes to wait.
    """
    user = request.user
    assert isinstance(user, User)  # noqa: S101 -- login_required let only people through
    if request.method != "POST":
        return show(request, user)
    attempt = attempts.begin_code(user.pk)
    if attempt.blocked_for_s:
        return too_many(show(request, user, wait_minutes=minutes(attempt)), attempt)
    return execute(request, user, attempt)


def too_many(page: HttpResponse, attempt: Attempt) -> HttpResponse:
    """Return `page` with status 429, and the seconds to wait in `Retry-After`."""
    page.status_code = TOO_MANY
    page["Retry-After"] = str(attempt.blocked_for_s)
    return page


@require_POST
def log_out(request: HttpRequest) -> HttpResponse:
    """End the session and show the login, which leads to the URL in `next` if there is one."""
    if isinstance(request.user, User):
        audit.note("logout", request.user, source=source_of(request))
    target = NextForm(request.POST).target
    logout(request)
    leads_on = target and is_own_address(request, target)
    query = f"?{urlencode({'next': target})}" if leads_on else ""
    response = redirect(f"{reverse('login')}{query}")
    # Delete the cached pages: they would show figures to the next person at this till. Keep the
    # browser's storage, because it may hold scans that wait for the network.
    response["Clear-Site-Data"] = '"cache"'
    return response

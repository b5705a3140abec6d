"""Access check before every view: a view needs a rule, and sees only the stores of the user.

A view declares its rule with `webui.accounts.roles.requires`. `UNGUARDED` names the routes without
a rule, for example logins and probes: they run without access to any store. The event
streams of pages (`STREAMS`) and the API have checks of their own. A request for any other view
without a rule is refused.
"""

from collections.abc import Callable
from typing import Any, Final

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

from ledger.access.scope import EVERYWHERE, NOWHERE, bound, current, enter, require_store, stores_of
from ledger.messages import Message
from webui.accounts.roles import RULE

UNGUARDED: Final = frozenset(
    {
        *("login", "login-code", "invitation", "logout", "livez", "readyz"),
        # Files that a device installs; they hold no data.
        *("service-worker", "offline"),
        # The choice of a language, before and after a login.
        "language",
        # Pages about the user's own account; the views require a login.
        *("second-factor", "sessions", "password", "password-changed", "tokens"),
        # The document describes the API and contains no data.
        "api-openapi",
    }
)
# Attribute of an API view: the access rule of each HTTP method. The operation checks the rule, and
# limits the request to the stores of the token's owner (`webui.api.access`).
API_RULES: Final = "api_rules"
# The stream checks session and stores itself, because it outlives its request.
STREAMS: Final = frozenset({"live-stream"})


class Gate(MiddlewareMixin):
    """Middleware that refuses views without a rule, and limits requests to the user's stores.

    The user's stores become the scope of the request, which `ledger.access` applies to each query.
    """

    def process_request(self, _request: HttpRequest) -> None:
        """Start each request without access to any store."""
        enter(NOWHERE)

    def process_view(
        self,
        request: HttpRequest,
        view: Callable[..., HttpResponseBase],
        _args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> HttpResponse | None:
        """Limit the request to the user's stores, and return None to continue.

        Raises:
            PermissionDenied: the view has no rule, or a parameter `location` of the request is a
                store outside the user's stores.
        """
        # The name includes its namespace, so `admin:login` is not taken for the route `login`.
        name = request.resolver_match.view_name if request.resolver_match else None
        if name in UNGUARDED | STREAMS:
            return None
        if hasattr(view, API_RULES):
            return None
        if not hasattr(view, RULE):
            message = Message(
                "The address %(path)s has no access rule, so nobody may use it. Nothing was "
                "changed.",
                path=request.path,
            )
            raise PermissionDenied(message)
        enter(stores_of(request.user))
        if request.user.is_authenticated:
            for location in (kwargs.get("location"), *_asked_locations(request)):
                if location:
                    require_store(str(location).strip())
        return None

    def process_response(
        self, _request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """Forbid caching unless the view allows it. Keep the user's scope for a streamed body.

        The browser would show a cached response to the next person at the same till. A streamed
        body is produced after this call, so its queries need the scope (the user's stores) again.
        """
        response.headers.setdefault("Cache-Control", "no-store")
        if isinstance(response, StreamingHttpResponse) and not response.is_async:
            response.streaming_content = bound(iter(response), current())
        enter(EVERYWHERE)
        return response


def _asked_locations(request: HttpRequest) -> list[str]:
    return [*request.GET.getlist("location"), *request.POST.getlist("location")]

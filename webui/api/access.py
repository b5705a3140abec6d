"""Access to the API: a request needs a valid token, a scope of the token, and a right of its owner.

Each operation declares its scope and right with an object of the class `Token`, which also limits
the request to the owner's stores. An operation without this object could read no store, because
`webui.accounts.gate` starts every request without access to any store.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest
from ninja.security import HttpBearer
from typing_extensions import override

from ledger.access.scope import Scope, enter, require_store, stores_of
from webui.accounts import refusals
from webui.accounts.api_tokens import TokenUse, is_valid, use_token
from webui.accounts.roles import abilities
from webui.accounts.sources import source_of
from webui.api.problems import Problem, malformed

REQUESTS_A_MINUTE: Final = 600
LARGEST_BODY: Final = 256 * 1024
# Attribute of an API view: the names of the query parameters of each HTTP method.
API_PARAMETERS: Final = "api_parameters"
_NONE: Final = "no token"
_NOT_VALID: Final = "unknown, expired or ended token"


@dataclass(frozen=True, slots=True)
class Caller:
    """The owner of a request's token, with id and scopes of the token."""

    user: User
    token: int
    scopes: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Return the name that commands record as their actor."""
        return self.user.get_username()

    def may(self, ability: str) -> bool:
        """Return True if the owner has the right `ability`, for example `order_odd_units`."""
        return ability in abilities(self.user)

    def require_scope(self, scope: str) -> None:
        """Raise `Problem` with status 403 if the token lacks this scope."""
        if scope not in self.scopes:
            detail = f"This token has no scope {scope}. Nothing was changed."
            next_step = f"Create a token with the scope {scope}."
            raise Problem(403, "missing-scope", detail, next_step, scope=scope)

    def require_right(self, ability: str) -> None:
        """Raise `Problem` with status 403 if the owner lacks the right `ability`."""
        if not self.may(ability):
            right = ability.replace("_", " ")
            detail = f"{self.name} has no right to {right}. Nothing was changed."
            next_step = "Ask an operator for a role with this right."
            raise Problem(403, "missing-right", detail, next_step, right=right)


def caller_of(request: HttpRequest) -> Caller:
    """Return the caller of a request that a `Token` has accepted."""
    checked: Any = request  # ninja sets `auth` to what `Token` has returned
    caller: Caller = checked.auth
    return caller


class Token(HttpBearer):
    """The access rule of an operation: the scope of the token, and the right of its owner."""

    def __init__(self, scope: str, ability: str) -> None:
        super().__init__()
        self.scope = scope
        self.ability = ability

    @override
    def __call__(self, request: HttpRequest) -> Caller:
        """Limit the request to the stores of the token's owner, and return the caller.

        Raises:
            Problem: the token, its owner, the body or a parameter is refused.
            OutOfScope: a location in the request is none of the owner's stores.
        """
        found: Any = super().__call__(request)
        if found is None:
            _refuse_token(request, _NONE)
        caller: Caller = found
        enter(stores_of(caller.user))
        caller.require_right(self.ability)
        require_acceptable(request)
        match = request.resolver_match
        named = match.kwargs.get("location") if match else None
        for location in (named, *request.GET.getlist("location")):
            if location:
                require_store(str(location))
        require_known_parameters(request)
        return caller

    @override
    def authenticate(self, request: HttpRequest, token: str) -> Caller:
        """Count the request, and return the caller.

        Raises:
            Problem: the token isn't valid (status 401), lacks the scope (403), or has sent too many
                requests in this minute (429).
        """
        used = use_token(token)
        user = None if used is None else User.objects.filter(pk=used.person_id).first()
        if used is None or user is None or not user.is_active:
            _refuse_token(request, _NOT_VALID)
        # `Refusals` reads the account from `request.user`, because a token has no session.
        request.user = user
        _require_pace(used)
        caller = Caller(user, used.id, frozenset(used.scopes))
        caller.require_scope(self.scope)
        return caller


def _refuse_token(request: HttpRequest, reason: str) -> NoReturn:
    refusals.record(
        "token",
        account=refusals.NO_ACCOUNT,
        source=source_of(request),
        address=f"{request.method} {request.path}",
        reason=reason,
    )
    detail = f"{reason.capitalize()}. Nothing was changed."
    next_step = (
        "Send the header Authorization: Bearer TOKEN. People create tokens in their account."
    )
    problem = Problem(401, "no-valid-token", detail, next_step)
    problem.headers = {"WWW-Authenticate": "Bearer"}
    raise problem


def _require_pace(used: TokenUse) -> None:
    if used.requests > REQUESTS_A_MINUTE:
        detail = f"More than {REQUESTS_A_MINUTE} requests in this minute. Nothing was changed."
        next_step = "Wait for the seconds in the header Retry-After."
        problem = Problem(429, "too-many-requests", detail, next_step)
        problem.headers = {"Retry-After": str(max(1, used.wait_s))}
        raise problem


def require_acceptable(request: HttpRequest) -> None:
    """Raise `Problem` for a request that the API doesn't accept.

    A request is refused if it came without TLS although the pages use TLS (status 403), or if it is
    a POST whose body isn't JSON (415) or has more than 256 KiB (413).
    """
    if settings.SECURE_SSL_REDIRECT and not request.is_secure():
        detail = (
            "This request came without TLS, so others could read its token. Nothing was changed."
        )
        raise Problem(403, "no-tls", detail, "End this token, and use https with a new one.")
    if request.method != "POST":
        return
    # Check the type first: Django has parsed a multipart form already, so `request.body` fails.
    if request.content_type != "application/json":
        detail = f"The body is {request.content_type or 'of no type'}. Nothing was changed."
        raise Problem(415, "not-json", detail, "Send JSON with Content-Type: application/json.")
    length = request.META.get("CONTENT_LENGTH") or "0"
    if int(length) > LARGEST_BODY or len(request.body) > LARGEST_BODY:
        detail = f"The body has more than {LARGEST_BODY} bytes. Nothing was changed."
        raise Problem(413, "too-large", detail, "Send fewer entries at once.")


def require_known_parameters(request: HttpRequest) -> None:
    """Raise `Problem` for a query parameter that the operation doesn't have, or that is repeated.

    Otherwise a misspelt filter would have no effect, and the response would have too many rows.
    """
    match = request.resolver_match
    parameters: dict[str, list[str]] = getattr(match.func, API_PARAMETERS) if match else {}
    known = parameters.get(request.method or "", [])
    for name, values in request.GET.lists():
        if name not in known:
            raise malformed(name, values[-1], f"expected {' or '.join(known) or 'no parameter'}")
        if len(values) > 1:
            raise malformed(name, values[-1], f"given {len(values)} times: expected once")


def scope_of_caller(token: int, person_id: int) -> Scope | None:
    """Return the present stores of a token's owner, or None if the token is no longer valid.

    Streams call this at each poll, because they continue after their request was checked.
    """
    user = User.objects.filter(pk=person_id, is_active=True).first()
    return stores_of(user) if user is not None and is_valid(token) else None


def all_rules(tokens: Iterable[object]) -> list[Token]:
    """Return the access rules among `tokens`, the objects that ninja calls for an operation."""
    return [token for token in tokens if isinstance(token, Token)]

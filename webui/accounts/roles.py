"""What each role may do (docs/security): one table, asked by every view and every template."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, Final

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase

SEE: Final = "see"
COUNT: Final = "count"
ADJUST: Final = "adjust"
APPROVE_COUNTS: Final = "approve_counts"
SET_LIMITS: Final = "set_limits"
RECEIVE: Final = "receive"
SEE_TRANSFERS: Final = "see_transfers"
TRANSFER: Final = "transfer"
SEE_ORDERS: Final = "see_orders"
MANAGE_ORDERS: Final = "manage_orders"
REOPEN_ORDERS: Final = "reopen_orders"
RANGE_ITEMS: Final = "range_items"
DECIDE_REORDERS: Final = "decide_reorders"
ORDER_ODD_UNITS: Final = "order_odd_units"
DECIDE_PRICES: Final = "decide_prices"
STOP_PRICES: Final = "stop_prices"
SEE_REJECTED_BYTES: Final = "see_rejected_bytes"
SETTLE_REJECTED: Final = "settle_rejected"

_ROLES: Final = "_names_of_roles"

# An empty set means every person who is logged in.
GROUPS_OF: Final[dict[str, frozenset[str]]] = {
    SEE: frozenset(),
    COUNT: frozenset({"associate", "manager"}),
    ADJUST: frozenset({"associate", "manager"}),
    APPROVE_COUNTS: frozenset({"manager"}),
    SET_LIMITS: frozenset({"manager"}),
    RECEIVE: frozenset({"associate", "manager"}),
    # Buyers ask other locations for units; they see what became of it, and take back their own.
    SEE_TRANSFERS: frozenset({"associate", "manager", "buyer", "lead"}),
    TRANSFER: frozenset({"associate", "manager"}),
    SEE_ORDERS: frozenset({"associate", "manager", "buyer", "lead"}),
    MANAGE_ORDERS: frozenset({"buyer", "lead"}),
    REOPEN_ORDERS: frozenset({"lead"}),
    RANGE_ITEMS: frozenset({"buyer", "lead"}),
    DECIDE_REORDERS: frozenset({"buyer", "lead"}),
    ORDER_ODD_UNITS: frozenset({"lead"}),
    DECIDE_PRICES: frozenset({"pricing"}),
    STOP_PRICES: frozenset({"pricing", "operator"}),
    SEE_REJECTED_BYTES: frozenset({"operator", "analyst"}),
    SETTLE_REJECTED: frozenset({"operator"}),
}


def roles_of(user: User) -> frozenset[str]:
    """Return the names of the person's roles, from one query for as long as a request lasts."""
    known: frozenset[str] | None = getattr(user, _ROLES, None)
    if known is None:
        known = frozenset(user.groups.values_list("name", flat=True))
        # Each request loads its person again, so a changed role holds from the next one on.
        setattr(user, _ROLES, known)
    return known


def abilities(user: User | AnonymousUser) -> frozenset[str]:
    """Everything this person may do, from one query for as long as a request lasts."""
    if not user.is_authenticated:
        return frozenset()
    if user.is_superuser:
        return frozenset(GROUPS_OF)
    mine = roles_of(user)
    return frozenset(
        ability for ability, groups in GROUPS_OF.items() if not groups or groups & mine
    )


View = Callable[Concatenate[HttpRequest, ...], HttpResponseBase]


def requires(ability: str) -> Callable[[View], View]:
    """Let a view through to people with this ability; others log in or are refused."""

    def guard(view: View) -> View:
        @login_required
        @wraps(view)
        def guarded(request: HttpRequest, /, **kwargs: Any) -> HttpResponseBase:  # noqa: ANN401 -- what the route gives
            if ability not in abilities(request.user):
                message = f"this needs the ability {ability.replace('_', ' ')}"
                raise PermissionDenied(message)
            return view(request, **kwargs)

        return guarded

    return guard

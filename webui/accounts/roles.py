"""Rights of each role, in one mapping, which every view and every template reads.

`requires` declares the rule of a view: the right that a person needs, and whether they must be a
member of all stores. `webui.accounts.gate` refuses a view without a rule. The code calls a right an
*ability*.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, Final, NamedTuple

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from ledger.access.roles import (
    ANALYST,
    ASSOCIATE,
    BUYER,
    LEAD,
    MANAGER,
    OPERATOR,
    ORDERING,
    PRICING,
)
from ledger.access.scope import grants_of, require_company
from ledger.messages import Message
from ledger.requests.service import ASKERS
from ledger.reviews.service import REVIEWERS

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
CHANGE_POLICY: Final = "change_policy"
SEE_REJECTED_BYTES: Final = "see_rejected_bytes"
SETTLE_REJECTED: Final = "settle_rejected"
SEE_ERRORS: Final = "see_errors"
SEE_AUDIT: Final = "see_audit"
SEE_AUDIT_OF_STORES: Final = "see_audit_of_stores"
MANAGE_PEOPLE: Final = "manage_people"
MANAGE_STAFF: Final = "manage_staff"
SEE_REFUSED: Final = "see_refused_requests"
MANAGE_REFERENCE: Final = "manage_reference_data"
SEE_HISTORY: Final = "see_history"
ASK_HISTORY: Final = "ask_for_history"
CONFIRM_HISTORY: Final = "confirm_history"
MANAGE_WEBHOOKS: Final = "manage_webhooks"
OVERSEE_WEBHOOKS: Final = "oversee_webhooks"

# Attribute of a guarded view that holds its rule.
RULE: Final = "access_rule"

# The roles with each right. An empty set means every person who is logged in.
GROUPS_OF: Final[dict[str, frozenset[str]]] = {
    SEE: frozenset(),
    COUNT: frozenset({ASSOCIATE, MANAGER}),
    ADJUST: frozenset({ASSOCIATE, MANAGER}),
    APPROVE_COUNTS: frozenset({MANAGER}),
    SET_LIMITS: frozenset({MANAGER}),
    RECEIVE: frozenset({ASSOCIATE, MANAGER}),
    # Buyers request units from other locations, see the result, and withdraw their requests.
    SEE_TRANSFERS: frozenset({ASSOCIATE, MANAGER, BUYER, LEAD}),
    TRANSFER: frozenset({ASSOCIATE, MANAGER}),
    SEE_ORDERS: frozenset({ASSOCIATE, MANAGER, BUYER, LEAD}),
    MANAGE_ORDERS: ORDERING,
    REOPEN_ORDERS: frozenset({LEAD}),
    RANGE_ITEMS: frozenset({BUYER, LEAD}),
    DECIDE_REORDERS: ORDERING,
    ORDER_ODD_UNITS: frozenset({LEAD}),
    DECIDE_PRICES: frozenset({PRICING}),
    STOP_PRICES: frozenset({PRICING, OPERATOR}),
    CHANGE_POLICY: frozenset({BUYER, LEAD, PRICING}),
    SEE_REJECTED_BYTES: frozenset({OPERATOR, ANALYST}),
    SETTLE_REJECTED: frozenset({OPERATOR}),
    # Texts of errors contain network addresses and names of accounts.
    SEE_ERRORS: frozenset({OPERATOR, ANALYST}),
    # Each person sees their own actions. These roles also see the actions of other people.
    SEE_AUDIT: frozenset({OPERATOR, ANALYST}),
    SEE_AUDIT_OF_STORES: frozenset({MANAGER}),
    # Managers manage the accounts of associates in their own stores, operators those of all people.
    MANAGE_STAFF: frozenset({MANAGER, OPERATOR}),
    MANAGE_PEOPLE: frozenset({OPERATOR}),
    SEE_REFUSED: frozenset({OPERATOR}),
    MANAGE_REFERENCE: frozenset({OPERATOR}),
    SEE_HISTORY: REVIEWERS,
    ASK_HISTORY: ASKERS,
    CONFIRM_HISTORY: frozenset({OPERATOR}),
    # A webhook sends decisions to an address outside the company. So only some of the people who
    # may see decisions can register one.
    MANAGE_WEBHOOKS: frozenset({BUYER, LEAD, PRICING, OPERATOR}),
    OVERSEE_WEBHOOKS: frozenset({OPERATOR}),
}


def roles_of(user: User) -> frozenset[str]:
    """Return the names of the person's roles, with one query per request."""
    return grants_of(user).roles


def abilities(user: User | AnonymousUser) -> frozenset[str]:
    """Return the rights of this person, for example `decide_reorders`; one query per request."""
    if not user.is_authenticated:
        return frozenset()
    if user.is_superuser:
        return frozenset(GROUPS_OF)
    mine = roles_of(user)
    return frozenset(
        ability for ability, groups in GROUPS_OF.items() if not groups or groups & mine
    )


View = Callable[Concatenate[HttpRequest, ...], HttpResponseBase]


class Rule(NamedTuple):
    """Right that a view requires. If `company`, the person must also be a member of all stores."""

    ability: str
    company: bool


def requires(ability: str, *, company: bool = False) -> Callable[[View], View]:
    """Return a decorator that allows a view only to people with the right `ability`.

    With `company` the person must also be a member of all stores. A person without a session is
    redirected to the login. For others without the right, the view raises `PermissionDenied`.
    """

    def guard(view: View) -> View:
        @login_required
        @wraps(view)
        def guarded(request: HttpRequest, /, **kwargs: Any) -> HttpResponseBase:  # noqa: ANN401 -- what the route gives
            if ability not in abilities(request.user):
                message = Message(
                    "This page or action needs the right to %(right)s. Nothing was changed.",
                    right=Message(ability.replace("_", " ")),
                )
                raise PermissionDenied(message)
            if company:
                require_company()
            return view(request, **kwargs)

        setattr(guarded, RULE, Rule(ability, company))
        return guarded

    return guard

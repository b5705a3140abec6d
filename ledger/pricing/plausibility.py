"""Detection of probable typing errors in prices, like 2499.00 for 24.99.

A caller has to confirm such a price. No price is forbidden here, because the rules allow each price
of at least 0.01 that is not below the floor (docs/domain.md 0, 6.4). Pages and the API ask the
person for the confirmation. Other callers confirm by default.

A price from half to twice the usual price, both included, needs no confirmation. Usual changes are
within these limits, even a reduction to half the price. A missing decimal point and an extra digit
give a price outside of the limits. Some exchanged digits do, too: 39.99 for 93.99 is outside,
but 21.99 for 12.99 is within.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ledger.kernel.amounts import amount_text
from ledger.kernel.errors import ServiceError
from ledger.kernel.unscoped_rows import read_one
from ledger.messages import Message

FACTOR: Final = 2
# Largest ratio of regular price to cost, for an item that has no regular price at another location.
FACTOR_OF_COST: Final = 10
_ELSEWHERE: Final = """
SELECT min(cost_minor) FILTER (WHERE cost_minor > 0) AS least_cost_minor,
       max(cost_minor) AS most_cost_minor,
       min(regular_minor) AS least_regular_minor, max(regular_minor) AS most_regular_minor
FROM retail.item_location WHERE sku = %s AND inv_key <> %s
"""
PRICE: Final = "price_minor"
COST: Final = "cost_minor"
REGULAR: Final = "regular_minor"


@dataclass(frozen=True, slots=True)
class _Elsewhere:
    """The range of an item's cost, and the range of its regular price, at other locations.

    A value is None if no other location has one.
    """

    least_cost_minor: int | None = None
    most_cost_minor: int | None = None
    least_regular_minor: int | None = None
    most_regular_minor: int | None = None


class ImplausiblePrice(ServiceError):
    """An amount that is allowed, but that the caller has to confirm."""

    def __init__(self, field: str, price_minor: int, rule: str) -> None:
        self.price_minor = price_minor
        super().__init__(field, price_minor, rule)


def is_implausible(price_minor: int, *, least_minor: int, most_minor: int) -> bool:
    """Return True if 2 * price < `least_minor` or price > 2 * `most_minor`."""
    return price_minor > FACTOR * most_minor or FACTOR * price_minor < least_minor


def usual_minor(last_minor: int | None, regular_minor: int | None) -> int | None:
    """Return the price with which a new price is compared: the last one, else the regular price."""
    return regular_minor if last_minor is None else last_minor


def require_plausible(price_minor: int, usual: int | None) -> None:
    """Raise `ImplausiblePrice` if a price is below half or above twice `usual`.

    If `usual` is None, there is no check.
    """
    if usual is not None and is_implausible(price_minor, least_minor=usual, most_minor=usual):
        rule = Message(
            "more than twice or less than half of the last price, %(usual)s: correct it, or tick "
            "that the amount is correct",
            usual=amount_text(usual),
        )
        raise ImplausiblePrice(PRICE, price_minor, rule)


def require_plausible_policy(sku: str, inv_key: str, policy: Mapping[str, object]) -> None:
    """Raise `ImplausiblePrice` for a cost or regular price far from those of other locations.

    An amount is far if it is below half of the lowest or above twice the highest amount that the
    SKU has at other locations. If no other location has a regular price, the regular price must be
    at most ten times the cost.
    """
    known = read_one(_Elsewhere, _ELSEWHERE, sku, inv_key) or _Elsewhere()
    limits = (
        (COST, known.least_cost_minor, known.most_cost_minor),
        (REGULAR, known.least_regular_minor, known.most_regular_minor),
    )
    for column, least, most in limits:
        typed = policy.get(column)
        if not isinstance(typed, int) or least is None or most is None:
            continue
        if is_implausible(typed, least_minor=least, most_minor=most):
            span = " to ".join(dict.fromkeys((amount_text(least), amount_text(most))))
            rule = Message(
                "more than twice or less than half of what other locations have, %(span)s: correct "
                "it, or tick that the amount is correct",
                span=span,
            )
            raise ImplausiblePrice(column, typed, rule)
    if known.most_regular_minor is None:
        _require_plausible_regular(policy.get(REGULAR), policy.get(COST))


def _require_plausible_regular(regular: object, cost: object) -> None:
    if isinstance(regular, int) and isinstance(cost, int) and 0 < cost * FACTOR_OF_COST < regular:
        rule = Message(
            "more than ten times the cost of %(cost)s: correct it, or tick that the amount is "
            "correct",
            cost=amount_text(cost),
        )
        raise ImplausiblePrice(REGULAR, regular, rule)

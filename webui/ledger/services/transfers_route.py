"""The route of a transfer, and what keeps one from being taken.

A till may sell what nobody has ranged; a person who plans a transfer means an item that both ends
have. A plan is a promise, so it goes no further than the stock that is there and not promised yet.
Goods that leave are a fact, so somebody may say that more of them left than the book has.
"""

from dataclasses import dataclass
from datetime import date
from typing import Final

from webui.access.scope import current
from webui.ledger.services import checks
from webui.ledger.services.errors import refuse
from webui.ledger.services.transactions import fetch_all, fetch_one

BEYOND_STOCK: Final = "or sent knowingly beyond what the book has"

_STOCK: Final = """
SELECT there.expected_units AS on_hand_units, i.allocated_units + (
    SELECT coalesce(sum(p.planned_units), 0) FROM retail.shipment_line p
    WHERE p.inv_key = i.inv_key AND p.leg = 'transfer_out' AND p.status = 'planned'
      AND p.id IS DISTINCT FROM %s)::bigint AS promised_units
FROM retail.item_location i
CROSS JOIN LATERAL app.expected_at(i.inv_key, 'infinity', 9223372036854775807) there
WHERE i.inv_key = %s
"""


@dataclass(frozen=True, slots=True)
class Route:
    """What is to go from where to where, and when it is due."""

    source: str
    destination: str
    sku: str
    units: int
    due_on: date | None = None

    def keys(self) -> tuple[str, str]:
        """The checked keys of both ends."""
        if self.source == self.destination:
            refuse("destination", self.destination, "a transfer goes to another location")
        checks.whole("units", self.units, 1)
        problem = checks.location_problem(self.destination)
        if problem:
            refuse("destination", self.destination, problem)
        return checks.key(self.source, self.sku), checks.key(self.destination, self.sku)


def refuse_unranged(route: Route) -> None:
    """Raise `ServiceError` unless both ends have the item; it names the end or the item."""
    keys = {"source": f"{route.source}|{route.sku}"}
    keys["destination"] = f"{route.destination}|{route.sku}"
    ranged = fetch_all(
        "SELECT inv_key FROM retail.item_location WHERE inv_key = ANY(%s)", list(keys.values())
    )
    for field, inv_key in keys.items():
        if {"inv_key": inv_key} not in ranged:
            _refuse_end(field, inv_key)


def _refuse_end(field: str, inv_key: str) -> None:
    location, _, sku = inv_key.partition("|")
    known = fetch_one("SELECT * FROM retail.whereabouts(%s, %s)", location, sku)
    if known is None or not known["sku_locations"]:
        refuse("sku", sku, "an item that some location has")
    if not known["location_known"]:
        refuse(field, location, "a location that we know")
    refuse(field, location, f"a location that has {sku}: have it ranged there first")


def refuse_beyond_stock(
    inv_key: str, units: int, *, besides: int | None = None, or_else: str = ""
) -> None:
    """Raise `ServiceError` for more units than are on hand and not promised.

    Promised is what customers were allocated and what other transfers plan; the row `besides` is
    no other one. `or_else` says what a person can do about it. A key that is not ranged any more
    is not judged. Nobody else takes units of the key until the transaction ends.
    """
    # A statement of its own: the next one sees what has committed while the lock was waited for.
    fetch_one("SELECT id FROM retail.item_location WHERE inv_key = %s FOR UPDATE", inv_key)
    stock = fetch_one(_STOCK, besides, inv_key)
    if stock is None:
        return
    free = max(0, int(stock["on_hand_units"]) - int(stock["promised_units"]))
    if units <= free:
        return
    location, _, sku = inv_key.partition("|")
    if not current().allows(location):
        refuse("units", units, f"fewer: {location} can't send so many; ask the people there")
    rule = (
        f"at most {free}: {location} has {stock['on_hand_units']} of {sku} on hand and has"
        f" promised {stock['promised_units']}"
    )
    refuse("units", units, f"{rule}; {or_else}" if or_else else rule)

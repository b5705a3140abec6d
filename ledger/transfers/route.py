"""The route of a transfer, and the checks that refuse it.

A till may sell unranged items; a person plans transfers only of items that both ends range. A plan
is a promise, so it is limited to on-hand units that are not promised yet. Goods that have left are
a fact, so a person may record more of them than the ledger shows.
"""

from dataclasses import dataclass
from datetime import date
from typing import Final

from ledger.access.scope import current
from ledger.kernel import checks
from ledger.kernel.errors import refuse
from ledger.kernel.transactions import execute, fetch_column
from ledger.kernel.unscoped_rows import read_one

BEYOND_STOCK: Final = "or confirm that more were sent than are recorded here"

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
class _Stock:
    """On-hand units of a key, and those of them that are promised."""

    on_hand_units: int
    promised_units: int


@dataclass(frozen=True, slots=True)
class _Whereabouts:
    """Where a location and an SKU are known; at most five locations of the SKU."""

    location_known: bool
    sku_locations: list[str]


@dataclass(frozen=True, slots=True)
class Route:
    """Item, units, source, destination and due day of a transfer."""

    source: str
    destination: str
    sku: str
    units: int
    due_on: date | None = None

    def keys(self) -> tuple[str, str]:
        """Return the checked keys of source and destination."""
        if self.source == self.destination:
            refuse("destination", self.destination, "a transfer goes to another location")
        checks.integer("units", self.units, 1)
        problem = checks.location_problem(self.destination)
        if problem:
            refuse("destination", self.destination, problem)
        return checks.key(self.source, self.sku), checks.key(self.destination, self.sku)


def refuse_unranged(route: Route) -> None:
    """Raise `ServiceError` unless both ends range the item; it names the end or the item."""
    keys = {"source": f"{route.source}|{route.sku}"}
    keys["destination"] = f"{route.destination}|{route.sku}"
    ranged = fetch_column(
        "SELECT inv_key FROM retail.item_location WHERE inv_key = ANY(%s)", list(keys.values())
    )
    for field, inv_key in keys.items():
        if inv_key not in ranged:
            _refuse_end(field, inv_key)


def _refuse_end(field: str, inv_key: str) -> None:
    location, _, sku = inv_key.partition("|")
    known = read_one(_Whereabouts, "SELECT * FROM retail.whereabouts(%s, %s)", location, sku)
    if known is None or not known.sku_locations:
        refuse("sku", sku, "an item that some location has")
    if not known.location_known:
        refuse(field, location, "a location that we know")
    refuse(field, location, f"a location that has {sku}: have it ranged there first")


def refuse_beyond_stock(
    inv_key: str, units: int, *, besides: int | None = None, or_else: str = ""
) -> None:
    """Raise `ServiceError` for more units than are on hand and not promised.

    Promised units are those allocated to customers and those in other planned transfers; `besides`
    is the row of this transfer. `or_else` adds a possible next step. A key that is no longer ranged
    is not checked. The key's row stays locked until the transaction ends.
    """
    # A separate statement: the next one sees the commits that happened while this one waited.
    execute("SELECT id FROM retail.item_location WHERE inv_key = %s FOR UPDATE", inv_key)
    stock = read_one(_Stock, _STOCK, besides, inv_key)
    if stock is None:
        return
    free = max(0, stock.on_hand_units - stock.promised_units)
    if units <= free:
        return
    location, _, sku = inv_key.partition("|")
    if not current().allows(location):
        refuse("units", units, f"fewer: {location} can't send so many; ask the people there")
    rule = (
        f"at most {free}: {location} has {stock.on_hand_units} of {sku} on hand and has"
        f" promised {stock.promised_units}"
    )
    refuse("units", units, f"{rule}; {or_else}" if or_else else rule)

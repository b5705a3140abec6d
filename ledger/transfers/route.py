"""The route of a transfer, and the checks of a new transfer.

The item must be ranged at source and destination. The units must be on hand at the source and not
be promised to customers or other transfers. A person who ships may confirm that more units have
left, because the recorded stock may be wrong.
"""

from dataclasses import dataclass
from datetime import date
from typing import Final

from ledger.access.scope import current
from ledger.kernel import checks
from ledger.kernel.errors import refuse
from ledger.kernel.transactions import execute, fetch_column
from ledger.kernel.unscoped_rows import read_one
from ledger.messages import Message, gettext_noop, joined
from ledger.nouns import counted

BEYOND_STOCK: Final = gettext_noop(
    "or confirm that more units were sent than the stock record shows"
)

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
    """The on-hand units of a key, and the units promised to customers and planned transfers."""

    on_hand_units: int
    promised_units: int


@dataclass(frozen=True, slots=True)
class _Whereabouts:
    """Facts that explain why an item isn't ranged (has no policy) at a location.

    `location_known` is False for an unknown location. `sku_locations` has up to five locations at
    which the SKU is ranged.
    """

    location_known: bool
    sku_locations: list[str]


@dataclass(frozen=True, slots=True)
class Route:
    """A transfer to make: `units` of an item from source to destination; `due_on` is optional."""

    source: str
    destination: str
    sku: str
    units: int
    due_on: date | None = None

    def keys(self) -> tuple[str, str]:
        """Return the keys of source and destination; raise `ServiceError` if a value is invalid."""
        if self.source == self.destination:
            refuse(
                "destination",
                self.destination,
                "must differ from the location that sends the units",
            )
        checks.integer("units", self.units, 1)
        problem = checks.location_problem(self.destination)
        if problem:
            refuse("destination", self.destination, problem)
        return checks.key(self.source, self.sku), checks.key(self.destination, self.sku)


def refuse_unranged(route: Route) -> None:
    """Raise `ServiceError` unless the item has a policy at source and destination.

    The error names the location at which the item has no policy. If the item has no policy at any
    location, the error names the SKU.
    """
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
        refuse("sku", sku, "no location has this item in its range: check the SKU")
    if not known.location_known:
        refuse(field, location, "no such location: check its code")
    rule = Message(
        "this location doesn't have %(sku)s in its range: choose another one, or ask the buyer to "
        "add the item",
        sku=sku,
    )
    refuse(field, location, rule)


def refuse_beyond_stock(
    inv_key: str, units: int, *, besides: int | None = None, or_else: str = ""
) -> None:
    """Raise `ServiceError` if units > max(0, on-hand - promised units) of the source `inv_key`.

    Promised units are allocated to customers or part of a planned transfer. If the caller ships a
    planned transfer, `besides` is the id of the transfer's row at the source. Its units then don't
    count as promised. `or_else` is a next step to add to the message. A key without a policy is not
    checked. The item's row stays locked until the transaction ends.
    """
    # Lock in a separate statement, so that the next statement sees what others committed before the
    # lock.
    execute("SELECT id FROM retail.item_location WHERE inv_key = %s FOR UPDATE", inv_key)
    stock = read_one(_Stock, _STOCK, besides, inv_key)
    if stock is None:
        return
    free = max(0, stock.on_hand_units - stock.promised_units)
    if units <= free:
        return
    location, _, sku = inv_key.partition("|")
    if not current().allows(location):
        refuse(
            "units",
            units,
            Message(
                "at most %(free)s: %(location)s has no more units that are free to send",
                free=f"{free:,}",
                location=location,
            ),
        )
    rule = Message(
        "at most %(free)s: %(location)s has %(on_hand)s of %(sku)s on hand, and "
        "has promised %(promised_units)s to customers or other transfers",
        free=free,
        location=location,
        on_hand=counted(stock.on_hand_units, "unit"),
        sku=sku,
        promised_units=stock.promised_units,
    )
    refuse("units", units, joined([rule, Message(or_else)], "; ") if or_else else rule)

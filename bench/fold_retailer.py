"""Generate a retailer of any size from a seed: policies, prices and counts, then sales.

Every key has the same rate of events, for any number of keys: one record about every eight hours,
most of them sales. So the work per record is the same at each size; only the memory differs.
"""

import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from bench.fold_log import Event, Log, Row, iso
from inventory.replenishment.families import MIN_MAX

_STORES: Final = 20
_GAP_US: Final = 8 * 3_600_000_000  # between two records of a key
_MINUTE_US: Final = 60_000_000
_SALE: Final = 0.86
_LATEST_MINUTES: Final = 2 * 24 * 60
_REMEMBERED: Final = 2_000  # rows that a later record may change

Action = Callable[["Retailer", str], Event]


@dataclass(slots=True)
class Retailer:
    """The keys, the log with its clock, and the rows that can still change."""

    keys: int
    seed: int
    log: Log = field(default_factory=Log)
    _random: random.Random = field(init=False)
    _orders: deque[Row] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    _sales: deque[Row] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)  # noqa: S311 -- a repeatable load, no secret

    def opening(self) -> Iterator[Event]:
        """Yield a policy, a price and an opening count for every key."""
        for number in range(self.keys):
            key = _key(number)
            self._advance()
            yield self.log.event("item_location", None, self.log.policy(key, _policy(number)))
            yield self._new("price_change", key, _price(self.log.now_us))
            count = {"units": 10 + number % 60, "kind": "opening", "status": "approved"}
            yield self._new("stock_count", key, {**count, "occurred_at": iso(self.log.now_us)})

    def trading(self, rounds: int) -> Iterator[Event]:
        """Yield `rounds` records per key on average, each for a random key."""
        actions, shares = zip(*_ACTIONS, strict=True)
        drawn = self._random
        for action in drawn.choices(actions, shares, k=self.keys * rounds):
            self._advance()
            yield action(self, _key(drawn.randrange(self.keys)))

    def sale(self, key: str, late_us: int = 0) -> Event:
        """Return a sale line with 1 to 3 units, sold `late_us` before its commit."""
        row = self._sale_row(key, self._random.choice((1, 1, 1, 2, 3)), self.log.now_us - late_us)
        self._sales.append(row)
        return self.log.event("sale_line", None, row)

    def late_sale(self, key: str) -> Event:
        """Return a sale of a till that was offline for up to two days."""
        return self.sale(key, self._random.randrange(_LATEST_MINUTES) * _MINUTE_US)

    def returned(self, key: str) -> Event:
        """Return a customer's return of one unit."""
        return self.log.event("sale_line", None, self._sale_row(key, -1, self.log.now_us))

    def corrected(self, key: str) -> Event:
        """Return an event that changes the quantity of the newest sale line, or deletes this line.

        The line may belong to any key. If no sale line is left, return a sale of `key`.
        """
        if not self._sales:
            return self.sale(key)
        before = self._sales.pop()
        if self._random.random() < 0.5:  # noqa: PLR2004 -- one of two
            return self.log.event("sale_line", before, None)
        after = {**before, "quantity_units": 1 + before["quantity_units"]}
        return self.log.event("sale_line", before, after)

    def ordered(self, key: str) -> Event:
        """Return the event of a new order line, with 24 units ordered from the supplier."""
        columns = {
            "order_ref": "PO",
            "reorder_id": None,
            "supplier": "ACME",
            "status": "sent",
            "ordered_units": 24,
            "confirmed_units": None,
            "cancelled_units": 0,
            "ordered_at": iso(self.log.now_us),
            "due_on": None,
        }
        row = self.log.row("purchase_order_line", key, columns)
        self._orders.append(row)
        return self.log.event("purchase_order_line", None, row)

    def received(self, key: str) -> Event:
        """Return the receipt of any key's oldest open order; without one, a new order of `key`."""
        if not self._orders:
            return self.ordered(key)
        order = self._orders.popleft()
        columns = {
            "leg": "supplier_in",
            "status": "received",
            "purchase_order_line_id": order["id"],
            "planned_units": 0,
            "shipped_units": 24,
            "received_units": 24,
            "damaged_units": 0,
            "order_units": 24,
            "shipped_at": iso(self.log.now_us),
            "received_at": iso(self.log.now_us),
        }
        return self._new("shipment_line", order["inv_key"], columns)

    def counted(self, key: str) -> Event:
        """Return a cycle count."""
        columns = {"units": self._random.randrange(60), "kind": "cycle", "status": "approved"}
        return self._new("stock_count", key, {**columns, "occurred_at": iso(self.log.now_us)})

    def adjusted(self, key: str) -> Event:
        """Return an adjustment for a missing unit."""
        columns = {"reason": "theft", "quantity_units": 1, "occurred_at": iso(self.log.now_us)}
        return self._new("stock_adjustment", key, columns)

    def reviewed(self, key: str) -> Event:
        """Return the daily update of a policy row, which starts rules that depend on the day."""
        number = _number(key)
        before = self.log.policy(key, _policy(number))
        after = {**before, "reviewed_at": iso(self.log.now_us)}
        return self.log.event("item_location", before, after)

    def _sale_row(self, key: str, units: int, at_us: int) -> Row:
        columns = {
            "source": "till-1",
            "source_ref": str(self.log.written),
            "quantity_units": units,
            "amount_minor": units * 999,
            "condition": "resaleable",
            "occurred_at": iso(at_us),
        }
        return self.log.row("sale_line", key, columns)

    def _new(self, table: str, key: str, columns: Row) -> Event:
        return self.log.event(table, None, self.log.row(table, key, columns))

    def _advance(self) -> None:
        self.log.now_us += _GAP_US // self.keys


def _key(number: int) -> str:
    return f"STORE-{number % _STORES:02d}|{100_000 + number // _STORES}"


def _number(key: str) -> int:
    store, _, sku = key.removeprefix("STORE-").partition("|")
    return int(store) + (int(sku) - 100_000) * _STORES


def _policy(number: int) -> Row:
    """Return the policy of key `number`. Two thirds of the keys have computed reorder points.

    The rules propose prices for half of the keys.
    """
    return {
        "replenish_family": MIN_MAX.code,
        "levels": "fixed" if number % 3 == 0 else "computed",
        "reorder_point_units": 12,
        "order_up_to_units": 48,
        "lead_time_centidays": 500,
        "lead_time_sd_centidays": 100,
        "cycle_centidays": 700,
        "safety_method": "service",
        "service_z_micro": 1_644_854,
        "initial_rate_micro": 3_000_000,
        "supplier": "ACME",
        "cost_minor": 500,
        "pack_units": 6,
        "price_mode": "advise" if number % 2 == 0 else "off",
        "regular_minor": 999,
        "margin_permille": 200,
        "tax_bp": 2_000,
    }


def _price(now_us: int) -> Row:
    return {
        "effective_from": iso(now_us),
        "price_minor": 999,
        "step": 0,
        "kind": "initial",
        "proposal_id": None,
        "floor_minor": 750,
    }


_ACTIONS: Final[tuple[tuple[Action, float], ...]] = (
    (Retailer.sale, _SALE),
    (Retailer.late_sale, 0.01),
    (Retailer.returned, 0.02),
    (Retailer.corrected, 0.01),
    (Retailer.ordered, 0.025),
    (Retailer.received, 0.025),
    (Retailer.counted, 0.01),
    (Retailer.adjusted, 0.01),
    (Retailer.reviewed, 0.03),
)

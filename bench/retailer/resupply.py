"""Transfers and orders of the planned history. Some orders are late or short.

In this history people reorder by hand in the evening if the recorded stock is low. Goods still in
transit when the history ends stay on order; the live run delivers them.
"""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Final, NamedTuple

from bench.retailer.catalogue import Supplier, suppliers
from bench.retailer.history_values import Day
from bench.retailer.retailer import HISTORY_DAYS, PlannedKey
from ledger.services import PastOrder, PastReceipt, PastTransfer, ShortLine

LOST_PERMILLE: Final = 25
NEXT_DAY_PERCENT: Final = 85
MOST_LATE_DAYS: Final = 6
# The first transfer from `STUCK_FROM_DAY` on, and the first order from `LATE_FROM_DAY` on, don't
# arrive before the history ends. People at the pages have to find them.
STUCK_FROM_DAY: Final = HISTORY_DAYS - 9
LATE_FROM_DAY: Final = HISTORY_DAYS - 12
NEVER: Final = 1_000


@dataclass(slots=True)
class Shelf:
    """Units of a key on the shelf (real units) and in the book (recorded units).

    `place` is the index of the key. All shelves share the set `touched`: it collects the indexes of
    keys whose book changed.
    """

    on_shelf: int
    in_book: int
    place: int
    touched: set[int]
    on_order: int = 0

    def move(self, units: int) -> None:
        """Change shelf and book by a recorded movement."""
        self.on_shelf += units
        self.in_book += units
        self.touched.add(self.place)

    @property
    def is_phantom(self) -> bool:
        """Return True if the recorded stock is above 0, although the shelf is empty."""
        return self.on_shelf <= 0 < self.in_book


class _Delivery(NamedTuple):
    order: PastOrder
    shipped: int
    damaged: int


class Resupply:
    """Orders and transfers in transit to the keys of the chain."""

    def __init__(
        self,
        seed: int,
        midnight: datetime,
        keys: dict[str, PlannedKey],
        shelves: dict[str, Shelf],
    ) -> None:
        self._random = Random(f"{seed}:resupply")  # noqa: S311 -- a demo, not a secret
        self._midnight = midnight
        self._keys = keys
        self._shelves = shelves
        self._suppliers = suppliers(seed)
        self._deliveries: dict[int, list[_Delivery]] = defaultdict(list)
        self._transfers: dict[int, list[PastTransfer]] = defaultdict(list)
        self._ordered: dict[int, list[PastOrder]] = defaultdict(list)
        self.orders = self.transfers = 0
        self.stuck_transfer = self.late_order = ""

    def arrive(self, number: int, today: Day) -> None:
        """Unload the deliveries due this morning, and add last evening's orders to `today`."""
        today.orders += self._ordered.pop(number, [])
        for delivery in self._deliveries.pop(number, []):
            self._receive(delivery, number, today)
        for transfer in self._transfers.pop(number, []):
            self._unload(transfer, today)

    def reorder(self, key: PlannedKey, number: int) -> None:
        """Reorder a key if its recorded units plus those on order are at most `trigger_units`."""
        shelf = self._shelves[key.inv_key]
        position = max(0, shelf.in_book) + shelf.on_order
        if position > key.trigger_units or key.fate == "too_much":
            return
        missing = key.order_up_to_units - position
        if key.is_store and not key.item.is_direct:
            self._send(key, missing, number)
        else:
            self._order(key, missing, number)

    def write_under_way(self, last: Day) -> None:
        """Add the goods in transit and the last evening's orders to the last day of the history."""
        for number in sorted(self._transfers):
            last.transfers += [
                goods._replace(received_units=0, received_at=None, reason=None)
                for goods in self._transfers[number]
            ]
        for number in sorted(self._ordered):
            last.orders += [
                order._replace(ordered_at=self._at(HISTORY_DAYS - 1, 21))
                for order in self._ordered[number]
            ]

    def _send(self, key: PlannedKey, missing: int, number: int) -> None:
        """Ship at most the units on the warehouse shelf. The goods leave the same evening."""
        source = self._shelves.get(f"{key.item.warehouse}|{key.item.sku}")
        units = min(missing, 0 if source is None else source.on_shelf)
        if source is None or units < 1:
            return
        random = self._random
        days = 1 if random.randrange(100) < NEXT_DAY_PERCENT else 2
        if number >= STUCK_FROM_DAY and not self.stuck_transfer:
            self.stuck_transfer, days = f"T-H-{self.transfers + 1}", NEVER
        lost = 1 if units > 1 and random.randrange(1000) < LOST_PERMILLE else 0
        source.move(-units)
        self._shelves[key.inv_key].on_order += units
        self.transfers += 1
        self._transfers[number + days].append(
            PastTransfer(
                transfer_ref=f"T-H-{self.transfers}",
                source=key.item.warehouse,
                destination=key.location,
                sku=key.item.sku,
                units=units,
                received_units=units - lost,
                shipped_at=self._at(number, 21, random.randrange(30)),
                received_at=self._at(number + days, 6, random.randrange(50)),
                reason="lost in transit" if lost else None,
            )
        )

    def _unload(self, transfer: PastTransfer, today: Day) -> None:
        shelf = self._shelves[f"{transfer.destination}|{transfer.sku}"]
        shelf.on_order -= transfer.units
        shelf.move(transfer.received_units)
        today.transfers.append(transfer)

    def _order(self, key: PlannedKey, missing: int, number: int) -> None:
        """Order from the supplier. Some orders are confirmed short; some arrive late or damaged."""
        item, random = key.item, self._random
        supplier = self._suppliers[item.supplier]
        ordered = -(-missing // key.pack_units) * key.pack_units
        confirmed = ordered
        if ordered > key.pack_units and random.randrange(1000) < supplier.short_permille:
            confirmed -= key.pack_units
        days, promised = max(2, self._days(supplier)), supplier.lead_days
        self.orders += 1
        if number >= LATE_FROM_DAY and not self.late_order:
            self.late_order, days = f"PO-H-{self.orders}", NEVER
        elif number + promised < HISTORY_DAYS <= number + days:
            promised = days  # so only `late_order` is overdue at the end of the history
        order = PastOrder(
            location=key.location,
            sku=item.sku,
            supplier=item.supplier,
            order_ref=f"PO-H-{self.orders}",
            ordered_units=ordered,
            confirmed_units=confirmed,
            ordered_at=self._at(number, 22),
            due_on=self._at(number + promised, 0),
            is_closed=number + days < HISTORY_DAYS,
        )
        self._shelves[key.inv_key].on_order += confirmed
        self._ordered[number + 1].append(order)
        shipped = confirmed - (random.randrange(1000) < supplier.short_permille and confirmed > 1)
        damaged = int(shipped > 1 and random.randrange(1000) < supplier.damaged_permille)
        self._deliveries[number + days].append(_Delivery(order, shipped, damaged))

    def _days(self, supplier: Supplier) -> int:
        random = self._random
        if random.randrange(1000) < supplier.late_permille:
            return supplier.lead_days + random.randrange(1, MOST_LATE_DAYS)
        return supplier.lead_days - random.randrange(2)

    def _receive(self, delivery: _Delivery, number: int, today: Day) -> None:
        order = delivery.order
        shelf = self._shelves[f"{order.location}|{order.sku}"]
        shelf.on_order -= order.confirmed_units
        fit = delivery.shipped - delivery.damaged
        shelf.move(fit)
        missing = order.confirmed_units - delivery.shipped
        reason = "short" if missing else "damaged" if delivery.damaged else None
        at = self._at(number, 7, self._random.randrange(50))
        today.receipts.append(
            PastReceipt(
                location=order.location,
                sku=order.sku,
                order_ref=order.order_ref,
                received_units=fit,
                damaged_units=delivery.damaged,
                order_units=delivery.shipped,
                received_at=at,
                reason=reason,
            )
        )
        if missing:
            today.short.append(ShortLine(order.order_ref, missing))

    def _at(self, number: int, hour: int, minute: int = 0) -> datetime:
        begins = self._midnight - timedelta(days=HISTORY_DAYS - number)
        return begins + timedelta(hours=hour, minutes=minute)

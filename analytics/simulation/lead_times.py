"""Lead times that suppliers and warehouses really needed, read from the archived log.

A source is a supplier, or the transfers to one location. By default, an order of a simulation takes
as long as a past order from the same source, if there is one.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final

from inventory.model.arithmetic import DAY_US, SECOND_US, day_of
from inventory.model.policy import ItemLocation
from inventory.model.record import Record
from inventory.tables.purchase_order_line import TABLE as ORDER_LINES
from inventory.tables.shipment_line import TABLE as SHIPMENTS

TABLES: Final = (ORDER_LINES.name, SHIPMENTS.name)
_MOST: Final = 101  # most lead times kept for a source; a longer list is thinned evenly
_CENTIDAY_US: Final = DAY_US // 100
_TRANSFERS: Final = "transfers to "
_SUPPLIER: Final = "supplier "

Seconds = Counter[int]
Experience = Mapping[str, tuple[int, ...]]  # source → lead times in seconds, ascending


@dataclass(slots=True)
class KeyArrivals:
    """Order lines and shipment lines (legs) of one key, each with the last image of its row."""

    orders: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    legs: dict[int, Mapping[str, Any]] = field(default_factory=dict)

    def note(self, record: Record) -> None:
        """Store the row after a record of one of the `TABLES`. Remove a deleted row."""
        rows = self.orders if record.table == ORDER_LINES.name else self.legs
        image: Any = record.after
        if isinstance(image, dict) and type(image.get("id")) is int:
            rows[image["id"]] = image
        elif isinstance(record.before, dict):
            rows.pop(record.before.get("id", 0), None)

    def is_served_by_transfers(self) -> bool:
        """Return True if more than half of the received shipment lines are transfers."""
        received = [leg["leg"] for leg in self.legs.values() if leg.get("status") == "received"]
        return 2 * received.count("transfer_in") > len(received)

    def seconds(self, location: str) -> Iterable[tuple[str, int]]:
        """Yield source and lead time in seconds of each receipt.

        A lead time begins with the order of a supplier's goods, or with the shipping of a transfer.
        """
        for leg in self.legs.values():
            received = leg.get("received_at")
            if leg.get("status") != "received" or type(received) is not int:
                continue
            source, since = self._begun(leg, location)
            if type(since) is int:
                yield source, max(0, received - since) // SECOND_US

    def _begun(self, leg: Mapping[str, Any], location: str) -> tuple[str, object]:
        if leg.get("leg") == "transfer_in":
            return _TRANSFERS + location, leg.get("shipped_at")
        order = self.orders.get(leg.get("purchase_order_line_id") or 0, {})
        return f"{_SUPPLIER}{order.get('supplier')}", order.get("ordered_at")


def experience_of(counted: Mapping[str, Seconds]) -> dict[str, tuple[int, ...]]:
    """Return the sorted lead times of each source, at most 101 for each.

    If a source has more, take 101 of them, evenly spaced.
    """
    return {source: _ranks(sorted(found.elements())) for source, found in sorted(counted.items())}


def _ranks(times: list[int]) -> tuple[int, ...]:
    last = len(times) - 1
    if last < _MOST:
        return tuple(times)
    return tuple(times[rank * last // (_MOST - 1)] for rank in range(_MOST))


def source_of(location: str, policy: ItemLocation | None, *, by_transfers: bool) -> str:
    """Return the source of an item's goods."""
    if by_transfers:
        return _TRANSFERS + location
    return f"{_SUPPLIER}{None if policy is None else policy.supplier}"


def planned_us(policy: ItemLocation | None) -> int:
    """Return the lead time of the policy in microseconds; 0 without a policy."""
    return 0 if policy is None else policy.lead_time_centidays * _CENTIDAY_US


def drawn_us(times: tuple[int, ...], key: str, ordered_us: int, seed: int) -> int:
    """Choose one of `times` (seconds) for an order of `key` at `ordered_us`. Return microseconds.

    The choice depends on seed, key and day only. So two scenarios that order an item on the same
    day wait for it equally long.
    """
    content = f"{seed}|{key}|{day_of(ordered_us)}".encode()
    drawn = int.from_bytes(blake2b(content, digest_size=8).digest(), "little")
    return times[drawn % len(times)] * SECOND_US

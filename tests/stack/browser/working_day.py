"""A shop whose orders, prices and rejected records suffice for mouse, keyboard and phone."""

import time
from dataclasses import dataclass, field
from typing import Any, Final

from confluent_kafka import Producer

from cdc.contracts.partition import partition_of
from cdc.contracts.topics import STOCK_EVENTS
from tests.stack.browser.hand import WINDOWS
from tests.stack.browser.shop import Shop
from tests.stack.running import RunningStack
from tests.streams import facts

ITEMS: Final = 10
SHELF_UNITS: Final = 42
ORDERED_UNITS: Final = 12
_ORDER_LINE: Final = """INSERT INTO retail.purchase_order_line (inv_key, location, sku, order_ref,
    supplier, status, ordered_units, ordered_at, cost_minor)
    VALUES (%s, %s, %s, %s, 'HOUSE', 'sent', %s, clock_timestamp(), 400)"""
_PRICE: Final = """INSERT INTO retail.price_change (inv_key, location, sku, effective_from,
    price_minor, kind, floor_minor)
    VALUES (%s, %s, %s, clock_timestamp() - interval '1 minute', 849, 'manual', 1)"""
_REJECTED: Final = """INSERT INTO read_model.rejected (id, generation, partition, "offset", key,
    value, reason, stage, detail, logic_revision, commit_us)
    VALUES (%s, 9, %s, %s, %s, %s, 'before_dedupe_horizon', 'fold', 'older than the ring', 1, %s)"""


@dataclass(slots=True)
class WorkingDay:
    """The shop, and the rows of its rejected records, which Postgres never had."""

    stack: RunningStack
    shop: Shop
    lost: list[dict[str, Any]] = field(default_factory=list)

    def begin(self) -> None:
        """Write everything, and wait until the read model has it."""
        for number in range(ITEMS):
            self.shop.range(self.sku(number), SHELF_UNITS, name=self.name(number))
        for number, by in enumerate(WINDOWS):
            for sku in (self.sku(0), self.sku(1)):
                at = (self.shop.key(sku), self.shop.location, sku)
                self.shop.sql(_ORDER_LINE, *at, self.order(by), ORDERED_UNITS)
            sku = self.sku(number)
            self.shop.sql(_PRICE, self.shop.key(sku), self.shop.location, sku)
            self._lose(number)
        skus = [self.sku(number) for number in range(ITEMS)]
        other = Shop(self.shop.url)  # pages offer a choice of the store only if there are two
        other.range("CUP", 1)
        self.stack.wait_until(lambda: self.shop.shown(skus) and other.shown(["CUP"]))

    def counted(self, first: int) -> list[tuple[Any, ...]]:
        """Return SKU and units of the counts with `first` to `first` + 9 units.

        Counts of every kind are returned, because an item's second blind count has another kind
        than its first.
        """
        return self.shop.sql(
            "SELECT sku, units FROM retail.stock_count WHERE location = %s"
            " AND units BETWEEN %s AND %s ORDER BY sku",
            *(self.shop.location, first, first + ITEMS - 1),
        )

    def end(self) -> None:
        """Write deletions of the rejected rows to the log, so that the log agrees with Postgres."""
        bootstrap = self.stack.settings.kafka_bootstrap
        producer = Producer({"bootstrap.servers": bootstrap, "acks": "all"})
        for row in self.lost:
            key = str(row["inv_key"]).encode()
            now_us = time.time_ns() // 1000
            gone = facts.change(
                "stock_adjustment", op="d", before=row, lsn=row["id"], commit_us=now_us
            )
            producer.produce(STOCK_EVENTS, gone, key, partition_of(key))
        assert producer.flush(30) == 0

    def sku(self, number: int) -> str:
        return f"{'ABCDEFGHIJ'[number]}-{self.shop.location[-8:]}"

    def name(self, number: int) -> str:
        return f"Kettle {'ABCDEFGHIJ'[number]}{self.shop.location[-8:].lower()}"

    def order(self, by: str) -> str:
        return f"PO-{self.shop.location[-8:]}-{by.upper()}"

    def record(self, number: int) -> str:
        """Return the id of a rejected record."""
        row = self.lost[number]
        return f"9-{partition_of(str(row['inv_key']).encode())}-{row['id']}"

    def _lose(self, number: int) -> None:
        ((high,),) = self.shop.sql("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint")
        key, now_us = self.shop.key(f"LOST-{number}"), time.time_ns() // 1000
        row = facts.row(
            id_=high,
            key=key,
            at_us=now_us,
            reason="found",
            quantity_units=3,
            occurred_at=facts.iso(now_us),
        )
        self.lost.append(row)
        value = facts.change("stock_adjustment", after=row, lsn=high, commit_us=now_us)
        place = (partition_of(key.encode()), high)
        self.shop.sql(_REJECTED, self.record(number), *place, key.encode(), value, now_us)

"""A separate location that trades at a planned rate: hot items, other items, unsold items."""

import random
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import psycopg

from bench.load import planned


class PlantFailed(RuntimeError):
    """A wrong row could not be planted or restored; no round follows."""


HOT: Final = tuple(f"H{number}" for number in range(10))
_OTHERS: Final = tuple(f"T{number}" for number in range(400))
AT_REST: Final = tuple(f"Q{number}" for number in range(12))
# Several items with needs, because the simulated buyers of a demo order about half of them.
NEEDED: Final = tuple(f"N{number}" for number in range(12))
_BATCHES_A_SECOND: Final = 10
_FOR_EVER_S: Final = 86_400.0
_OPEN: Final = """
INSERT INTO retail.stock_count (inv_key, location, sku, units, kind, status, occurred_at)
SELECT %(location)s || '|' || sku, %(location)s, sku, 5, 'opening', 'approved',
    clock_timestamp() - interval '3 hours'
FROM unnest(%(skus)s::text[]) sku
"""
_RANGE: Final = """
INSERT INTO retail.item_location (inv_key, location, sku, status, replenish_family,
    reorder_point_units, order_up_to_units, supplier, cost_minor)
SELECT %(location)s || '|' || sku, %(location)s, sku, 'active', 'sS', 20, 60, 'ACME', 500
FROM unnest(%(skus)s::text[]) sku
"""
_SELL: Final = """
INSERT INTO retail.sale_line (source, source_ref, inv_key, location, sku, quantity_units,
    amount_minor, occurred_at)
SELECT %(location)s, %(run)s || '-' || n, %(location)s || '|' || sku, %(location)s, sku, 1, 100,
    clock_timestamp()
FROM unnest(%(skus)s::text[]) WITH ORDINALITY line (sku, n)
"""
# Each order line is inserted, and then confirmed at once. So some changed rows in flight have older
# values, which `verify` must handle, too.
_ORDER: Final = """
INSERT INTO retail.purchase_order_line (inv_key, location, sku, order_ref, supplier, status,
    ordered_units, ordered_at)
VALUES (%(location)s || '|' || %(sku)s, %(location)s, %(sku)s, %(location)s || '-' || %(run)s,
    'ACME', 'sent', 24, clock_timestamp())
"""
_CONFIRM: Final = """
UPDATE retail.purchase_order_line
SET status = 'confirmed', confirmed_units = 20, cancelled_units = 4
WHERE order_ref = %(location)s || '-' || %(run)s AND status = 'sent'
"""


@dataclass(slots=True)
class Shop:
    """A new location whose items the thread of `trading` sells; `lines` counts its sale lines.

    The thread sells items in `_more` as often as items in `HOT`, and no item in `_held`.
    """

    url: str
    rate: int
    seed: int
    location: str = field(default_factory=lambda: f"VFY-{uuid.uuid4().hex[:6].upper()}")
    lines: int = 0
    _held: set[str] = field(default_factory=set)
    _more: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _thread: threading.Thread | None = None

    def key(self, sku: str) -> str:
        """Return the `inv_key` of an item."""
        return f"{self.location}|{sku}"

    def open(self) -> None:
        """Write a count of each item.

        Then give a policy to the items `NEEDED`, so that the rules open needs, and sell one unit of
        every item that is not in `NEEDED`.
        """
        sold = [*HOT, *_OTHERS, *AT_REST]
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(_OPEN, {"location": self.location, "skus": [*sold, *NEEDED]})
            connection.execute(_RANGE, {"location": self.location, "skus": list(NEEDED)})
            self._sell(connection, sold, "open")

    def sell(self, sku: str) -> None:
        """Sell one unit."""
        with self._lock, psycopg.connect(self.url, autocommit=True) as connection:
            self._sell(connection, [sku], f"one{uuid.uuid4().hex}")

    @contextmanager
    def without_sales(self, sku: str) -> Iterator[None]:
        """Sell no unit of the item within the block. Earlier sales are committed when it begins."""
        with self._with(self._held, sku):
            yield

    @contextmanager
    def sell_often(self, sku: str) -> Iterator[None]:
        """Sell the item as often as a hot one within the block."""
        with self._with(self._more, sku):
            yield

    def check(self) -> None:
        """Check that the thread that sells is running.

        Raises:
            PlantFailed: the thread that sells has ended.
        """
        if self._thread is None or not self._thread.is_alive():
            problem = f"the thread that sells at {self.location} ended after {self.lines} lines"
            raise PlantFailed(problem)

    @contextmanager
    def _with(self, items: set[str], sku: str) -> Iterator[None]:
        with self._lock:
            items.add(sku)
        try:
            yield
        finally:
            with self._lock:
                items.discard(sku)

    @contextmanager
    def trading(self) -> Iterator[None]:
        """Sell at the planned rate, with an order each second, within the block."""
        stopped = threading.Event()
        self._thread = thread = threading.Thread(target=self._trade, args=(stopped,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            stopped.set()
            thread.join()

    def _trade(self, stopped: threading.Event) -> None:
        chance = random.Random(self.seed)  # noqa: S311 -- repeatable, not secret
        batch = max(1, self.rate // _BATCHES_A_SECOND)
        half = batch // 2
        with psycopg.connect(self.url, autocommit=True) as connection:
            for number, _due in enumerate(planned(self.rate, _FOR_EVER_S, batch)):
                if stopped.is_set():
                    return
                with self._lock:
                    hot = sorted({*HOT, *self._more} - self._held)
                    skus = [*chance.choices(hot, k=batch - half), *chance.choices(_OTHERS, k=half)]
                    self._sell(connection, skus, f"b{number}")
                    if number % _BATCHES_A_SECOND == 0:
                        ordered = [sku for sku in HOT if sku not in self._held]
                        self._order(connection, chance.choice(ordered), f"b{number}")

    def _order(self, connection: psycopg.Connection, sku: str, run: str) -> None:
        """Write an order line, then a confirmation of fewer units."""
        asked = {"location": self.location, "sku": sku, "run": run}
        connection.execute(_ORDER, asked)
        connection.execute(_CONFIRM, asked)

    def _sell(self, connection: psycopg.Connection, skus: Sequence[str], run: str) -> None:
        asked = {"location": self.location, "skus": list(skus), "run": run}
        connection.execute(_SELL, asked)
        self.lines += len(skus)

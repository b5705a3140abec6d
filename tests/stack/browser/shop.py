"""The shop of one test. Its rows in Postgres are like those of tills, counts and other systems."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg

REORDER_POINT_UNITS = 20
ORDER_UP_TO_UNITS = 60
PACK_UNITS = 6


@dataclass(slots=True)
class Shop:
    """A location that only one test uses. Its items have s = 20, S = 60 and packs of 6."""

    url: str
    location: str = field(default_factory=lambda: f"TILL-{uuid.uuid4().hex[:8].upper()}")
    name: str = ""

    def sql(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Run one statement as the owner and commit. Return its rows, or [] without a result."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement, parameters)
            return cursor.fetchall() if cursor.description else []

    def key(self, sku: str) -> str:
        return f"{self.location}|{sku}"

    def range(
        self,
        sku: str,
        units: int,
        *,
        name: str = "",
        price_minor: int = 999,
        rate_micro: int | None = None,
    ) -> str:
        """Range, price and count an item with a first demand. Return its key."""
        self.sql(
            "INSERT INTO retail.location (code, name) VALUES (%s, %s) ON CONFLICT DO NOTHING",
            self.location,
            self.name or self.location.title(),
        )
        self.sql(
            "INSERT INTO retail.product (code, name) VALUES (%s, %s) ON CONFLICT DO NOTHING",
            sku,
            name or f"Item {sku}",
        )
        self.sql(
            "INSERT INTO retail.supplier (code, name) VALUES ('HOUSE', 'House goods')"
            " ON CONFLICT DO NOTHING"
        )
        key = (self.key(sku), self.location, sku)
        self.sql(
            "INSERT INTO retail.item_location (inv_key, location, sku, status, replenish_family,"
            " reorder_point_units, order_up_to_units, pack_units, supplier, cost_minor,"
            " regular_minor, initial_rate_micro)"
            " VALUES (%s, %s, %s, 'active', 'sS', %s, %s, %s, 'HOUSE', 400, %s, %s)",
            *(*key, REORDER_POINT_UNITS, ORDER_UP_TO_UNITS, PACK_UNITS, price_minor, rate_micro),
        )
        self.sql(
            "INSERT INTO retail.price_change (inv_key, location, sku, effective_from, price_minor,"
            " kind, floor_minor) VALUES (%s, %s, %s, clock_timestamp() - interval '1 day', %s,"
            " 'initial', 1)",
            *key,
            price_minor,
        )
        self.sql(
            "INSERT INTO retail.stock_count (inv_key, location, sku, units, kind, status,"
            " occurred_at) VALUES (%s, %s, %s, %s, 'opening', 'approved',"
            " clock_timestamp() - interval '2 hours')",
            *key,
            units,
        )
        return key[0]

    def sell(self, sku: str, units: int, *, minutes_ago: int = 0) -> None:
        """Insert and commit one sale line."""
        self.sql(
            "INSERT INTO retail.sale_line (source, source_ref, inv_key, location, sku,"
            " quantity_units, amount_minor, occurred_at) VALUES ('till', %s, %s, %s, %s, %s, %s,"
            " clock_timestamp() - make_interval(mins => %s))",
            uuid.uuid4().hex,
            self.key(sku),
            self.location,
            sku,
            units,
            units * 999,
            minutes_ago,
        )

    def propose_price(self, sku: str, *, old_minor: int, new_minor: int) -> str:
        """Write a price proposal as the actuator does. Return its id."""
        proposal = f"P:{self.key(sku)}:1-{uuid.uuid4().int % 10**9}"
        self.sql(
            "INSERT INTO app.price_proposal (proposal_id, inv_key, location, sku, revision, status,"
            " old_minor, new_minor, regular_minor, floor_minor, step, signal, clamps,"
            " effective_at_us, prior_minor, terms, logic_revision, position, as_of_us)"
            " VALUES (%s, %s, %s, %s, 1, 'open', %s, %s, %s, 400, 1, 'overstock', '{ending}',"
            " (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, %s,"
            """ '[["supply_units", 90]]', 1, '{"generation":1,"partition":0,"offset":1}', 0)""",
            proposal,
            self.key(sku),
            self.location,
            sku,
            old_minor,
            new_minor,
            old_minor,
            old_minor,
        )
        return proposal

    def shown(self, skus: Sequence[str]) -> bool:
        """Return True if the read model has all of these items, each counted."""
        found = self.sql(
            "SELECT count(*) FROM read_model.stock WHERE inv_key = ANY(%s) AND stock_known",
            [self.key(sku) for sku in skus],
        )
        return bool(found[0][0] == len(skus))

    def order_lines(self) -> list[tuple[Any, ...]]:
        """Return every order line of the location."""
        return self.sql(
            "SELECT ordered_units, status, recorded_by FROM retail.purchase_order_line"
            " WHERE location = %s",
            self.location,
        )

"""Six weeks of three small stores: every kind of fact that the questions of analysts need.

Sales depend on weekday and hour. Prices go down one step and up again. Deliveries come late and
short, items are stolen and broken, and shelves are empty for days.
"""

import json
import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from tests.analytics.histories import POLICY, START, Generated, _iso, _Writer

STORES = ("BERLIN-1", "GRAZ-2", "WIEN-1")
ITEMS = (("KIT-1", "sS", 900), ("KIT-2", "sS", 300), ("TEA-1", "cover", 120), ("TEA-2", "off", 80))
DAYS = 42
REDUCED = range(20, 30)  # days on which WIEN-1 sells at the first step
_COVER = {"levels": "computed", "min_cover_centidays": 500, "max_cover_centidays": 1200}
_HOURS = (9, 11, 12, 15, 17, 18)

Event = tuple[datetime, str, str, dict[str, object]]  # time, table, key, columns


def six_weeks(seed: int = 5, *, days: int = DAYS) -> Generated:
    """Return the history of all stores, in commit order."""
    rng = random.Random(seed)  # noqa: S311 -- seeded test data
    history = Generated()
    writer = _Writer(rng, history)
    keys = [(f"{store}|{sku}", family, cost) for store in STORES for sku, family, cost in ITEMS]
    events = [event for key, family, cost in keys for event in _ranged(key, family, cost)]
    for day in range(days):
        for key, _family, cost in keys:
            events += _traded(rng, key, day, cost)
    orders: dict[str, object] = {}
    for at, table, key, columns in sorted(events, key=lambda event: event[0]):
        writer._now = at
        if table == "shipment_line":
            columns["purchase_order_line_id"] = orders.get(key)
        row = writer.row(table, key, columns)
        if table == "purchase_order_line":
            orders[key] = row["id"]
    return history


def images(history: Generated, table: str) -> Iterator[dict[str, Any]]:
    """Yield the after-images of one table by partition. No row of `six_weeks` is ever changed."""
    for arrivals in history.log.values():
        for arrival in arrivals:
            found = json.loads(arrival.value or b"{}")
            if found["source"]["table"] == table:
                yield found["after"]


def _ranged(key: str, family: str, cost: int) -> Iterator[Event]:
    policy: dict[str, object] = {
        **POLICY,
        **(_COVER if family == "cover" else {}),
        "replenish_family": family,
        "supplier": _supplier(key),
        "cost_minor": cost,
        "regular_minor": 2 * cost,
    }
    yield START, "item_location", key, policy
    yield START, "stock_count", key, {"units": 30, "kind": "opening", "status": "approved"}
    yield START, "price_change", key, _price(START, 2 * cost, 0, "initial")


def _traded(rng: random.Random, key: str, day: int, cost: int) -> Iterator[Event]:
    """Yield one day of one item."""
    opens = START + timedelta(days=day)
    at_step = int(key.startswith("WIEN-1") and day in REDUCED)
    price = 2 * cost * (10 - 2 * at_step) // 10
    sells = rng.randint(0, 3) + 2 * (opens.weekday() >= 5) + at_step
    for hour in _HOURS[: 0 if key.endswith("TEA-2") and day > 10 else sells]:
        yield _sold(rng, key, opens.replace(hour=hour, minute=rng.randint(0, 59)), price)
    if key.startswith("WIEN-1") and day in (REDUCED.start, REDUCED.stop):
        yield opens, "price_change", key, _price(opens, price, at_step, "rule")
    if day % 14 == 6:
        yield from _delivered(rng, key, opens.replace(hour=10))
    if day % 9 == 4:
        reason = rng.choice(("theft", "damage", "waste", "found"))
        lost = {"reason": reason, "quantity_units": rng.randint(1, 3)}
        yield opens.replace(hour=16), "stock_adjustment", key, lost
    if day == 25:
        counted = {"units": 12, "kind": "cycle", "status": "approved"}
        yield opens.replace(hour=20), "stock_count", key, counted


def _sold(rng: random.Random, key: str, at: datetime, price: int) -> Event:
    quantity = rng.choice((1, 1, 1, 2, 3, -1))
    late = timedelta(hours=rng.choice((0,) * 12 + (1, 30, 130)))
    line: dict[str, object] = {
        "source": "till",
        "source_ref": f"{key}-{at.isoformat()}",
        "quantity_units": quantity,
        "amount_minor": quantity * price,
        "condition": "resaleable",
        "occurred_at": _iso(at - late),
    }
    return at, "sale_line", key, line


def _delivered(rng: random.Random, key: str, at: datetime) -> Iterator[Event]:
    """Yield an order and its receipt, which may be late, short or damaged."""
    ordered_at = at - timedelta(days=rng.choice((1, 2, 4)), hours=rng.randint(0, 5))
    damaged = rng.choice((0, 0, 2))
    received = rng.choice((24, 24, 20)) - damaged
    order: dict[str, object] = {
        "order_ref": f"PO-{key}-{at.date()}",
        "supplier": _supplier(key),
        "status": "sent",
        "ordered_units": 24,
        "cancelled_units": 0,
        "ordered_at": _iso(ordered_at),
        "due_on": (ordered_at + timedelta(days=3)).date().isoformat(),
    }
    receipt: dict[str, object] = {
        "leg": "supplier_in",
        "status": "received",
        "shipped_units": received + damaged,
        "received_units": received,
        "damaged_units": damaged,
        "order_units": received + damaged,
        "shipped_at": _iso(ordered_at + timedelta(hours=6)),
        "received_at": _iso(at),
    }
    yield ordered_at, "purchase_order_line", key, order
    yield at, "shipment_line", key, receipt


def _price(at: datetime, minor: int, step: int, kind: str) -> dict[str, object]:
    return {
        "effective_from": _iso(at),
        "price_minor": minor,
        "step": step,
        "kind": kind,
        "floor_minor": 0,
    }


def _supplier(key: str) -> str:
    return "ACME" if key.endswith("1") else "BORG"

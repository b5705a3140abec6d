"""What a simulated shop does with goods: knows what it sells, receives what is due, counts."""

from typing import Any, Final

from django.db import connection

from webui.ledger.services import (
    Conflict,
    Delivered,
    approve_count,
    receive_shipment,
    receive_transfer,
)
from webui.ledger.services.transactions import fetch_one
from webui.trading.retailer import STORES

ARRIVES_AFTER_S: Final = 30
AT_ONCE: Final = 20
ACTOR: Final = "simulation"

SHOPS: Final = """
SELECT item.location, item.sku, price.price_minor
FROM retail.item_location AS item
CROSS JOIN LATERAL (
    SELECT price_minor FROM retail.price_change AS change
    WHERE change.inv_key = item.inv_key AND effective_from <= clock_timestamp()
    ORDER BY effective_from DESC, id DESC LIMIT 1
) AS price
WHERE item.location = ANY(%s) AND item.clock_mode = 'live' AND item.status = 'active'
ORDER BY md5(item.inv_key)
"""
DUE_ORDERS: Final = """
SELECT line.id, coalesce(line.confirmed_units, line.ordered_units) - line.cancelled_units
       - coalesce(sum(goods.order_units), 0)::bigint AS open_units
FROM retail.purchase_order_line AS line
LEFT JOIN retail.shipment_line AS goods
    ON goods.purchase_order_line_id = line.id AND goods.leg = 'supplier_in'
WHERE line.status IN ('sent', 'confirmed')
  AND line.ordered_at < clock_timestamp() - make_interval(secs => %s)
GROUP BY line.id
HAVING coalesce(line.confirmed_units, line.ordered_units) - line.cancelled_units
       > coalesce(sum(goods.order_units), 0)
   AND coalesce(max(goods.recorded_at), '-infinity')
       < clock_timestamp() - make_interval(secs => %s)
ORDER BY line.id LIMIT %s
"""
DUE_TRANSFERS: Final = """
SELECT id, shipped_units FROM retail.shipment_line
WHERE leg = 'transfer_in' AND status = 'shipped' AND transfer_ref LIKE 'SIM-%%'
  AND shipped_at < clock_timestamp() - make_interval(secs => %s)
ORDER BY id LIMIT %s
"""


def shops_of_demo() -> list[tuple[str, str, int]]:
    """(location, SKU, price in force) of every live store item, in an order mixed by its key."""
    return [(row[0], row[1], row[2]) for row in _all(SHOPS, [list(STORES)])]


def receive_due_goods() -> int:
    """Receive what was ordered or sent a while ago; how many lines that were.

    One delivery in ten is short: the rest comes later as a second delivery. One in twenty brings a
    damaged unit.
    """
    received = 0
    for line_id, open_units in _all(DUE_ORDERS, [ARRIVES_AFTER_S, ARRIVES_AFTER_S, AT_ONCE]):
        received += _receive_order(line_id, open_units)
    for shipment_id, shipped in _all(DUE_TRANSFERS, [ARRIVES_AFTER_S, AT_ONCE]):
        received += _receive_transfer(shipment_id, shipped)
    return received


def _receive_order(line_id: int, open_units: int) -> int:
    arrived = open_units - 1 if line_id % 10 == 0 and open_units > 1 else open_units
    damaged = 1 if line_id % 20 == 1 and arrived > 1 else 0
    delivered = Delivered(arrived - damaged, damaged)
    try:
        receive_shipment(purchase_order_line_id=line_id, delivered=delivered, actor=ACTOR)
    except Conflict:
        return 0  # a person was faster
    return 1


def _receive_transfer(shipment_id: int, shipped: int) -> int:
    lost = 1 if shipment_id % 15 == 0 else 0
    delivered = Delivered(shipped - lost, discrepancy_reason="lost in transit" if lost else None)
    try:
        receive_transfer(shipment_line_id=shipment_id, delivered=delivered, actor=ACTOR)
    except Conflict:
        return 0  # a person was faster
    return 1


def cycle_count(*, location: str, sku: str, found_units: int) -> None:
    """Count a shelf near what the read model believes; without a belief nobody counts."""
    believed = fetch_one(
        "SELECT on_hand_units FROM read_model.stock WHERE inv_key = %s", f"{location}|{sku}"
    )
    if believed is not None:
        units = max(0, int(believed["on_hand_units"]) + found_units)
        approve_count(location=location, sku=sku, units=units, actor=ACTOR)


def _all(statement: str, parameters: list[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())

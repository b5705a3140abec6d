"""Preparations before a run: goods for the expected demand, and promotion prices.

Orders and receipts bring goods for the run into the stores. The ordered units follow a wrong
forecast of the demand. The seed determines the error of the forecast. So it also determines how
many units are missing or left over.
"""

from math import ceil
from random import Random
from typing import Final

from bench.retailer.commands import command_id
from bench.retailer.deliveries import STAFF
from bench.retailer.demand import UNITS_PER_LINE
from bench.retailer.shelves import Shop
from bench.retailer.shop_floor import ShopFloor
from ledger.kernel.transactions import database_now, ledger_transaction
from ledger.services import (
    LedgerError,
    PastOrder,
    PastReceipt,
    SetPrice,
    record_past_orders,
    record_past_receipts,
    set_price,
)

MOST_UNITS: Final = 500_000


def buy_in(shop_floor: ShopFloor, seconds: float) -> int:
    """Order and receive the units that the shelves are expected to lack; return their sum."""
    least, most = shop_floor.scenario.bought_in
    expected = shop_floor.demand.expected_lines(seconds)
    missing: list[tuple[Shop, int]] = []
    for shop, lines in zip(shop_floor.shops, expected, strict=True):
        random = Random(f"{shop_floor.done.seed}:bought in:{shop.inv_key}")  # noqa: S311 -- traffic
        wanted = lines * UNITS_PER_LINE * random.randint(least, most) / 1000
        units = ceil(wanted) - shop_floor.shelves.on(shop.inv_key)
        if units > 0 and shop.supplier:
            packs = -(-units // shop.pack_units)
            missing.append((shop, min(MOST_UNITS, packs * shop.pack_units)))
    _write(shop_floor, missing)
    for shop, units in missing:
        shop_floor.shelves.put(shop.inv_key, units)
    return sum(units for _, units in missing)


def _write(shop_floor: ShopFloor, missing: list[tuple[Shop, int]]) -> None:
    now = database_now()
    reference = f"PO-{shop_floor.source}"
    with ledger_transaction():
        record_past_orders(
            rows=[
                PastOrder(
                    location=shop.location,
                    sku=shop.sku,
                    supplier=shop.supplier or "",
                    order_ref=reference,
                    ordered_units=units,
                    confirmed_units=units,
                    ordered_at=now,
                    due_on=now,
                    is_closed=True,
                )
                for shop, units in missing
            ],
            actor=STAFF,
        )
        record_past_receipts(
            rows=[
                PastReceipt(shop.location, shop.sku, reference, units, 0, units, now, None)
                for shop, units in missing
            ],
            actor=STAFF,
        )


def cut_prices(shop_floor: ShopFloor) -> None:
    """Reduce the prices of hot items from the next window on; skip prices below the floor."""
    cut = shop_floor.scenario.hot_cut_permille
    if not cut:
        return
    for shop in shop_floor.shops[: shop_floor.demand.hot]:
        price = shop.price_minor * (1000 - cut) // 1000 // 50 * 50 - 1
        try:
            set_price(
                SetPrice(shop.location, shop.sku, max(1, price)),
                actor="simulated-pricing",
                command_id=command_id(shop_floor.source, "leaflet", shop.inv_key),
            )
            shop_floor.done.prices_set += 1
        except LedgerError:
            shop_floor.done.at_the_floor += 1

"""Purchases of customers, and other planned actions of a run.

`prepare_tick` takes the goods of a tick from the shelf, once. The function that it returns writes
lines and commands. The caller repeats this function if the database's answer is lost. Run and tick
determine the id of each line and command, so a repetition writes nothing twice.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import structlog

from bench.retailer.buyers import PRICING
from bench.retailer.commands import command_id
from bench.retailer.counting import Counting, Found
from bench.retailer.deliveries import STAFF
from bench.retailer.demand import Demand, PlannedAction, PlannedLine, Tick
from bench.retailer.scenarios import Scenario
from bench.retailer.shelves import Shelves, Shop, rows, shops_of_demo
from bench.retailer.tally import Traded
from ledger.kernel.transactions import database_now
from ledger.services import (
    Adjust,
    LedgerError,
    RecordSale,
    Route,
    ServiceError,
    SetPrice,
    ShipTransfer,
    adjust,
    record_sales,
    set_price,
    ship_transfer,
)

PACKS_PER_TRANSFER: Final = 6
PRICE_STEPS: Final = (70, 80, 90, 95, 105)
BATCH: Final = 2_000
LATE_S: Final = 60

_WAREHOUSE_OF: Final = """
SELECT sku, location FROM retail.item_location
WHERE location IN (SELECT code FROM retail.location WHERE kind = 'warehouse')
"""

log = structlog.get_logger()
Command = tuple[str, Callable[[], object]]


@dataclass(slots=True)
class ShopFloor:
    """One run: its source name, shops and shelves.

    `held` has the lines that tills without a network have not sent yet, by store.
    """

    source: str
    scenario: Scenario
    demand: Demand
    shops: list[Shop]
    shelves: Shelves
    counting: Counting
    done: Traded
    held: dict[str, list[RecordSale]] = field(default_factory=dict)
    warehouses: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.warehouses = dict(rows(_WAREHOUSE_OF, None))

    def reload_prices(self) -> None:
        """Read the items on sale and their prices again, because prices may have changed."""
        self.shops = shops_of_demo() or self.shops

    def prepare_tick(self, tick: Tick) -> Callable[[], None]:
        """Take the goods of a tick from the shelves; return a function that writes the facts."""
        now = database_now() if tick.lines or tick.actions else None
        if now is None:
            return partial(self._write, tick, [], [])
        sold = [
            row
            for place, line in enumerate(tick.lines)
            if (row := self._sale(tick, place, line, now)) is not None
        ]
        commands = [
            command
            for place, action in enumerate(tick.actions)
            if (command := self._command(tick, place, action, now)) is not None
        ]
        self.done.planned_lines += len(tick.lines)
        return partial(self._write, tick, sold, commands)

    def prepare_held(self) -> Callable[[], None]:
        """Return a function for the end of the run. It writes all lines that offline tills hold."""
        held = [row for store in sorted(self.held) for row in self.held[store]]
        self.held = {}
        return partial(self._record, held)

    def _sale(self, tick: Tick, place: int, line: PlannedLine, now: datetime) -> RecordSale | None:
        """Return the sale of a planned line, with at most the units on the shelf.

        Return None if there are no units, or if the store's tills are offline and hold the line.
        """
        shop = self.shops[line.key % len(self.shops)]
        units = line.units
        if self.scenario.is_limited:
            if units > 0:
                units = self.shelves.take(shop.inv_key, units)
                self.done.lost_units += line.units - units
                self.done.lost_lines += units == 0
            elif line.condition == "resaleable":
                self.shelves.put(shop.inv_key, -units)
        if units == 0:
            return None
        row = RecordSale(
            location=shop.location,
            sku=shop.sku,
            source=self.source,
            source_ref=f"{tick.number}-{place}",
            quantity_units=units,
            amount_minor=units * shop.price_minor,
            occurred_at=now + timedelta(seconds=line.shift_s),
            condition=line.condition,
        )
        is_held = self.demand.is_offline(shop.location, tick.number)
        self.done.late_lines += is_held or line.shift_s < -LATE_S
        if is_held:
            self.held.setdefault(shop.location, []).append(row)
            return None
        return row

    def _write(self, tick: Tick, sold: list[RecordSale], commands: list[Command]) -> None:
        back = [store for store in self.held if not self.demand.is_offline(store, tick.number)]
        for store in sorted(back):
            self._record(self.held[store])
            del self.held[store]
        self._record(sold)
        while commands:
            kind, work = commands[0]
            try:
                work()
            except LedgerError as refusal:
                self._refused(kind, refusal)
            commands.pop(0)

    def _record(self, sold: list[RecordSale]) -> None:
        while sold:
            chunk = sold[:BATCH]
            record_sales(chunk)
            # Count the lines, not the inserted rows: a repeated statement inserts none of them.
            self.done.lines += len(chunk)
            del sold[:BATCH]

    def _refused(self, kind: str, refusal: LedgerError) -> None:
        if kind == "price" and isinstance(refusal, ServiceError):
            self.done.at_the_floor += 1
            return
        self.done.refused += 1
        log.warning("simulated_command_refused", kind=kind, error=str(refusal))

    def _command(
        self, tick: Tick, place: int, action: PlannedAction, now: datetime
    ) -> Command | None:
        """Apply an action to the shelf. Return the service call that records it, if any."""
        shop = self.shops[action.key % len(self.shops)]
        identity = f"{self.source}:{tick.number}:{place}"
        if action.kind == "theft":
            self.done.thefts += self.shelves.take(shop.inv_key, 1)
            return None
        if action.kind == "count":
            units = self.shelves.on(shop.inv_key)
            self.counting.found.put(Found(shop.location, shop.sku, units, now, identity))
            return None
        if action.kind == "transfer":
            return self._transfer(shop, action, identity)
        if action.kind == "adjustment":
            return self._adjustment(shop, action, identity)
        return "price", partial(self._set_price, shop, action, identity)

    def _transfer(self, shop: Shop, action: PlannedAction, identity: str) -> Command | None:
        source = self.warehouses.get(shop.sku)
        if source is None:
            return None
        wanted = PACKS_PER_TRANSFER * action.units
        units = self.shelves.take(f"{source}|{shop.sku}", wanted)
        if not units:
            return None
        self.done.transfers += 1
        return "transfer", partial(
            ship_transfer,
            ShipTransfer(
                Route(source, shop.location, shop.sku, units),
                transfer_ref=f"SIM-{command_id(identity).hex[:16]}",
                # Staff ship the units on the shelf, and the book may have fewer.
                beyond_stock_allowed=True,
            ),
            actor=STAFF,
            command_id=command_id(identity),
        )

    def _adjustment(self, shop: Shop, action: PlannedAction, identity: str) -> Command | None:
        if action.reason == "found":
            self.shelves.put(shop.inv_key, 1)
        elif not self.shelves.take(shop.inv_key, 1) and self.scenario.is_limited:
            return None
        self.done.adjustments += 1
        return "adjustment", partial(
            adjust,
            Adjust(shop.location, shop.sku, action.reason, 1),
            actor=STAFF,
            command_id=command_id(identity),
        )

    def _set_price(self, shop: Shop, action: PlannedAction, identity: str) -> None:
        """Answer a competitor: set 70 to 105 % of the present price, rounded to 49 or 99."""
        percent = PRICE_STEPS[(action.key + action.units) % len(PRICE_STEPS)]
        price = shop.price_minor * percent // 100 // 50 * 50 - 1
        set_price(
            SetPrice(shop.location, shop.sku, max(1, price)),
            actor=PRICING,
            command_id=command_id(identity),
        )
        self.done.prices_set += 1

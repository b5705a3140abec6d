"""Deliveries of a live run: suppliers confirm and ship, trucks unload, store staff receive.

A day of lead time takes 2 s here. Unloaded goods are on the shelf at once. The ledger has them only
after the simulated staff, or a person at the pages, has recorded the receipt.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from random import Random
from typing import Any, Final

import structlog

from bench.retailer.buyers import BUYER
from bench.retailer.catalogue import suppliers
from bench.retailer.commands import command_id, run_once
from bench.retailer.scenarios import Scenario
from bench.retailer.shelves import Shelves, rows
from bench.retailer.tally import Traded
from ledger.services import (
    ConfirmOrderLine,
    Delivered,
    LedgerError,
    cancel_order_units,
    confirm_order_line,
    receive_shipment,
    receive_transfer,
    ship_order_line,
)

STAFF: Final = "simulated-associate"
SUPPLIER: Final = "simulated-supplier"
CONFIRMS_AFTER_S: Final = 3
SHIPS_AFTER_S: Final = 4
TRANSFER_S: Final = 8
SECONDS_PER_LEAD_DAY: Final = 2
LATE_DAYS: Final = 15
LOST_PERMILLE: Final = 60

_TO_CONFIRM: Final = """
SELECT line.id, line.supplier, line.ordered_units - line.cancelled_units, item.pack_units
FROM retail.purchase_order_line AS line JOIN retail.item_location AS item USING (inv_key)
WHERE line.status = 'sent' AND line.ordered_units > line.cancelled_units
  AND line.recorded_at < clock_timestamp() - make_interval(secs => %s)
ORDER BY line.id LIMIT %s
"""
# Orders of the written history arrive on the promised day, not in the first minute of the run. Late
# orders of the history, and stuck transfers, wait for people at the pages.
_TO_SHIP: Final = """
SELECT line.id, line.supplier, line.confirmed_units - line.cancelled_units
FROM retail.purchase_order_line AS line
WHERE line.status = 'confirmed' AND line.confirmed_units > line.cancelled_units
  AND line.recorded_at < clock_timestamp() - make_interval(secs => %s)
  AND (line.order_ref NOT LIKE 'PO-H-%%' OR
    line.due_on BETWEEN line.recorded_at::date AND current_date)
  AND NOT EXISTS (SELECT FROM retail.shipment_line AS goods
                  WHERE goods.purchase_order_line_id = line.id)
ORDER BY line.id LIMIT %s
"""
_ON_THE_ROAD: Final = """
SELECT goods.id, goods.inv_key, goods.shipped_units, coalesce(line.supplier, ''),
    extract(epoch FROM clock_timestamp() - goods.shipped_at)::float
FROM retail.shipment_line AS goods
LEFT JOIN retail.purchase_order_line AS line ON line.id = goods.purchase_order_line_id
WHERE goods.leg = %s AND goods.status = 'shipped'
  AND goods.shipped_at < clock_timestamp() - make_interval(secs => %s)
  AND goods.shipped_at > goods.recorded_at - interval '5 days'
ORDER BY goods.id LIMIT %s
"""
_RECEIVED_BY_OTHERS: Final = """
SELECT id, inv_key, received_units FROM retail.shipment_line
WHERE status = 'received' AND leg <> 'transfer_out'
  AND recorded_by IS DISTINCT FROM %s AND recorded_at > %s
"""
_CUT_SHORT: Final = """
SELECT line.id FROM retail.purchase_order_line AS line
WHERE line.status IN ('sent', 'confirmed') AND EXISTS (
    SELECT FROM retail.shipment_line AS goods WHERE goods.purchase_order_line_id = line.id
      AND goods.status = 'received' AND goods.recorded_by = %s
      AND goods.recorded_at < clock_timestamp() - make_interval(secs => %s))
ORDER BY line.id LIMIT %s
"""

log = structlog.get_logger()


@dataclass(slots=True)
class Deliveries:
    """The deliveries of a run; `unloaded` has the ids of shipments whose goods are on the shelf."""

    seed: int
    scenario: Scenario
    shelves: Shelves
    done: Traded
    at_once: int
    since: datetime
    unloaded: set[int] = field(default_factory=set)

    def work(self) -> None:
        """Execute one round of confirming, shipping, receiving and closing."""
        self._confirm()
        self._ship()
        self._receive_orders()
        self._receive_transfers()
        self._close_short()
        self._unload_received_by_people()

    def is_on_strike(self, supplier: str) -> bool:
        """Return True if the supplier does nothing in this run."""
        random = Random(f"{self.seed}:strike:{supplier}")  # noqa: S311 -- traffic
        return random.randrange(1000) < self.scenario.strike_permille

    def _confirm(self) -> None:
        found = rows(_TO_CONFIRM, [CONFIRMS_AFTER_S, self.at_once * 4])
        for line, supplier, units, pack in self._not_on_strike(found):
            short = units > pack and self._is_drawn("short", line, self._rates(supplier)[1])
            if self._attempt(
                confirm_order_line,
                ConfirmOrderLine(line, units - pack if short else units),
                actor=SUPPLIER,
                command_id=command_id("confirm", line),
            ):
                self.done.confirmed += 1
                self.done.confirmed_short += short

    def _ship(self) -> None:
        found = rows(_TO_SHIP, [SHIPS_AFTER_S, self.at_once * 4])
        for line, _supplier, units in self._not_on_strike(found):
            work = partial(ship_order_line, line_id=line, shipped_units=units, actor=SUPPLIER)
            self.done.shipped += self._attempt(
                run_once,
                identity=command_id("ship", line),
                kind="ship",
                actor=SUPPLIER,
                work=work,
            )

    def _receive_orders(self) -> None:
        found = rows(_ON_THE_ROAD, ["supplier_in", SECONDS_PER_LEAD_DAY, self.at_once * 10])
        due = [row for row in found if row[4] >= self._seconds_of(row[0], row[3])]
        for shipment, inv_key, shipped, supplier, _age in due[: self.at_once]:
            _, short_permille, damaged_permille = self._rates(supplier)
            missing = int(shipped > 1 and self._is_drawn("missing", shipment, short_permille))
            damaged = int(
                shipped > missing + 1 and self._is_drawn("damaged", shipment, damaged_permille)
            )
            reason = "short" if missing else "damaged" if damaged else None
            fit = shipped - missing - damaged
            self._unload(shipment, inv_key, fit)
            if self._attempt(
                receive_shipment,
                shipment_line_id=shipment,
                delivered=Delivered(fit, damaged, discrepancy_reason=reason),
                actor=STAFF,
                command_id=command_id("receive", shipment),
            ):
                self.done.receipts += 1
                self.done.short_or_damaged += reason is not None

    def _receive_transfers(self) -> None:
        found = rows(_ON_THE_ROAD, ["transfer_in", TRANSFER_S, self.at_once])
        for shipment, inv_key, shipped, _supplier, _age in found:
            lost = int(shipped > 1 and self._is_drawn("lost", shipment, LOST_PERMILLE))
            reason = "lost in transit" if lost else None
            self._unload(shipment, inv_key, shipped - lost)
            self.done.receipts += self._attempt(
                receive_transfer,
                shipment_line_id=shipment,
                delivered=Delivered(shipped - lost, discrepancy_reason=reason),
                actor=STAFF,
                command_id=command_id("receive", shipment),
            )

    def _close_short(self) -> None:
        """Cancel the units that a short delivery left open, so that the rules open a need again."""
        for (line,) in rows(_CUT_SHORT, [STAFF, SHIPS_AFTER_S, self.at_once]):
            identity = command_id("cut", line)
            self._attempt(cancel_order_units, line_id=line, actor=BUYER, command_id=identity)

    def _unload_received_by_people(self) -> None:
        """Unload the shipments whose receipts were recorded by other accounts than `STAFF`."""
        for shipment, inv_key, units in rows(_RECEIVED_BY_OTHERS, [STAFF, self.since]):
            self._unload(shipment, inv_key, units)

    def _unload(self, shipment: int, inv_key: str, units: int) -> None:
        """Put the goods on the shelf, once, even if their receipt needs several attempts."""
        if shipment not in self.unloaded:
            self.unloaded.add(shipment)
            self.shelves.put(inv_key, units)

    def _not_on_strike(self, found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Return the first `at_once` rows in `found` whose supplier is not on strike."""
        return [row for row in found if not self.is_on_strike(row[1])][: self.at_once]

    def _rates(self, supplier: str) -> tuple[int, int, int]:
        """Return the supplier's rates of late, short and damaged deliveries, in permille."""
        known = suppliers(self.seed).get(supplier)
        late, short, damaged = (
            (100, 50, 20)
            if known is None
            else (known.late_permille, known.short_permille, known.damaged_permille)
        )
        times = self.scenario.untidy
        return late * times, short * times, damaged * times

    def _seconds_of(self, shipment: int, supplier: str) -> float:
        known = suppliers(self.seed).get(supplier)
        days = 5 if known is None else known.lead_days
        if self._is_drawn("late", shipment, self._rates(supplier)[0]):
            days += LATE_DAYS
        return days * SECONDS_PER_LEAD_DAY

    def _is_drawn(self, what: str, number: int, permille: int) -> bool:
        random = Random(f"{self.seed}:{what}:{number}")  # noqa: S311 -- traffic
        return random.randrange(1000) < permille

    def _attempt(self, service: Callable[..., object], *command: object, **given: object) -> bool:
        """Return True if the service succeeded, False if it refused: another actor was faster."""
        try:
            service(*command, **given)
        except LedgerError as refusal:
            self.done.refused += 1
            log.info("simulated_command_refused", error=str(refusal))
            return False
        return True

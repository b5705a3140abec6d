"""`inventory simulate`: seeded trading on the demo retailer, through the services, open loop.

Ticks are due at planned times, and a late writer works them off instead of skipping them. Buyers
are not simulated: people approve. What they order arrives after a while.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from typing import Final
from uuid import uuid4

import structlog
from django.db import OperationalError, connection
from typing_extensions import override

from webui.ledger.services import (
    LedgerError,
    SaleRow,
    ServiceError,
    adjust,
    record_sales,
    ship_transfer,
)
from webui.ledger.services.transactions import database_now
from webui.trading.demand import TICKS_PER_S, Demand, Errand, PlannedLine, Tick
from webui.trading.goods import cycle_count, receive_due_goods, shops_of_demo
from webui.trading.retailer import WAREHOUSE
from webui.trading.scenarios import scenario_named

GOODS_EVERY_TICKS: Final = 2 * TICKS_PER_S
PRICES_EVERY_TICKS: Final = 15 * TICKS_PER_S
REPORT_EVERY_S: Final = 5.0
# As long as a restart of Postgres on a busy machine may take.
PATIENCE_S: Final = 60.0

log = structlog.get_logger()


@dataclass(slots=True)
class Traded:
    """What a run has written so far; prints as one line."""

    seconds: float = 0.0
    lines: int = 0
    receipts: int = 0
    errands: int = 0
    refused: int = 0
    behind_s: float = 0.0

    @override
    def __str__(self) -> str:
        behind = f", {self.behind_s:.1f} s behind" if self.behind_s > 1 else ""
        return (
            f"{self.seconds:.0f} s: {self.lines} sale lines, {self.receipts} receipts,"
            f" {self.errands} transfers, counts and adjustments, {self.refused} refused{behind}"
        )


def run(
    seed: int = 1,
    rate: float = 5.0,
    minutes: float = 1.0,
    scenario: str = "everyday",
    progress: Callable[[Traded], None] | None = None,
) -> Traded:
    """Trade for `minutes` (0 = until interrupted) at `rate` sale lines a second."""
    shape = scenario_named(scenario)
    shops = shops_of_demo()
    if not shops:
        field = "demo retailer"
        raise ServiceError(field, None, "must be seeded first: inventory up --seed-data demo")
    demand = Demand(seed=seed, keys=len(shops), rate=rate, scenario=shape)
    trading = _Trading(source=f"sim:{seed}:{uuid4().hex[:12]}", shops=shops)
    reported = began = time.monotonic()
    ends = began + minutes * 60 if minutes else float("inf")
    for number in count():
        due = began + number / TICKS_PER_S
        if due >= ends:
            break
        _sleep_until(due)
        _with_patience(trading, demand.tick(number))
        now = time.monotonic()
        trading.done.seconds, trading.done.behind_s = now - began, now - due
        if progress is not None and now - reported >= REPORT_EVERY_S:
            reported = now
            progress(trading.done)
    if progress is not None:
        progress(trading.done)
    return trading.done


class _Trading:
    """One run: whose shops, under which source, and what was done."""

    def __init__(self, *, source: str, shops: list[tuple[str, str, int]]) -> None:
        self._source = source
        self._shops = shops
        self.done = Traded()

    def write(self, tick: Tick) -> None:
        """Write a tick; its lines carry its number, so that writing it again adds nothing."""
        if tick.number and tick.number % PRICES_EVERY_TICKS == 0:
            self._shops = shops_of_demo() or self._shops
        if tick.lines:
            now = database_now()
            rows = [self._row(tick, at, line, now) for at, line in enumerate(tick.lines)]
            self.done.lines += record_sales(rows=rows).inserted
        for errand in tick.errands:
            self._run(errand)
        if tick.number % GOODS_EVERY_TICKS == 0:
            self.done.receipts += receive_due_goods()

    def _row(self, tick: Tick, at: int, line: PlannedLine, now: datetime) -> SaleRow:
        location, sku, price_minor = self._shops[line.key % len(self._shops)]
        return SaleRow(
            location=location,
            sku=sku,
            source=self._source,
            source_ref=f"{tick.number}-{at}",
            quantity_units=line.units,
            amount_minor=line.units * price_minor,
            occurred_at=now + timedelta(seconds=line.shift_s),
            condition=line.condition,
        )

    def _run(self, errand: Errand) -> None:
        location, sku, _ = self._shops[errand.key % len(self._shops)]
        try:
            self._do(errand, location, sku)
        except LedgerError as refusal:
            self.done.refused += 1
            log.warning("simulated_command_refused", kind=errand.kind, error=str(refusal))
        else:
            self.done.errands += 1

    @staticmethod
    def _do(errand: Errand, location: str, sku: str) -> None:
        if errand.kind == "transfer":
            ship_transfer(
                source=WAREHOUSE,
                destination=location,
                sku=sku,
                units=6 * errand.units,
                transfer_ref=f"SIM-{uuid4().hex[:12]}",
            )
        elif errand.kind == "count":
            cycle_count(location=location, sku=sku, found_units=errand.units - 2)
        else:
            adjust(location=location, sku=sku, reason=errand.reason, quantity_units=1)


def _sleep_until(due: float) -> None:
    ahead = due - time.monotonic()
    if ahead > 0:
        time.sleep(ahead)


def _with_patience(trading: _Trading, tick: Tick) -> None:
    """Write a tick; a database that restarts is waited for."""
    gives_up = time.monotonic() + PATIENCE_S
    while True:
        try:
            trading.write(tick)
        except OperationalError as problem:
            if time.monotonic() > gives_up:
                raise
            log.warning("database_lost", error=str(problem).strip())
            connection.close()
            time.sleep(1)
        else:
            return

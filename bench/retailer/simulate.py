"""`inventory simulate`: seeded trading on the demo retailer, through the services.

Ticks are due at planned times, and a late writer catches up instead of skipping ticks. Seed and
tick alone determine the demand. The sales also depend on the units on the shelves.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from math import inf, isfinite
from typing import Final
from uuid import uuid4

from bench.retailer.buyers import Habits
from bench.retailer.buying_in import buy_in, cut_prices
from bench.retailer.counting import Counting
from bench.retailer.deliveries import Deliveries
from bench.retailer.demand import TICKS_PER_S, Demand
from bench.retailer.demo import seed_demo
from bench.retailer.scenarios import scenario_named
from bench.retailer.shelves import real_shelves, shops_of_demo
from bench.retailer.shop_floor import ShopFloor
from bench.retailer.staff import Staff, StaffThread, retry_on_database_loss
from bench.retailer.tally import Traded
from ledger.kernel.transactions import database_now
from ledger.services import ServiceError

__all__ = ["Traded", "run"]

REPORT_EVERY_S: Final = 5.0
# Before a run, `buy_in` buys goods for the run's expected sales, but at most for the sales of this
# time. Before a run that lasts until Ctrl-C, it buys nothing: in such a run, the simulated buyers
# reorder enough for an ordinary day.
LONGEST_BUY_IN_S: Final = 3600.0

Progress = Callable[[object], None]


@dataclass(frozen=True, slots=True)
class Trading:
    """A run: `minutes` (0 = until interrupted) at `rate` sale lines a second.

    If no item is on sale, the demo retailer is written first, in `size`. Simulated buyers decide
    proposals older than `patience_s`, and leave `left_permille` of them to people.
    """

    seed: int = 1
    rate: float = 5.0
    minutes: float = 1.0
    scenario: str = "normal"
    size: str = "demo"
    left_permille: int = 0
    patience_s: float = 5.0

    def check(self) -> None:
        """Raise `ServiceError` for a rate or duration that no run can have."""
        if not (isfinite(self.rate) and self.rate > 0):
            name = "rate"
            raise ServiceError(name, self.rate, "sale lines a second, a finite number above 0")
        if not (isfinite(self.minutes) and self.minutes >= 0):
            name = "minutes"
            raise ServiceError(name, self.minutes, "0 (until Ctrl-C), or a finite number above 0")

    @property
    def at_once(self) -> int:
        """Return the largest number of proposals or deliveries that staff handle in one round."""
        return max(20, int(self.rate / 4))


def run(trading: Trading, progress: Progress | None = None) -> Traded:
    """Trade as planned; return the figures of the run. Ctrl-C ends the trade early."""
    trading.check()
    seed, shape = trading.seed, scenario_named(trading.scenario)
    shops = shops_of_demo()
    if not shops:
        _report(progress, "no item is on sale here: the demo retailer is written first")
        seed_demo(size=trading.size, progress=progress)
        shops = shops_of_demo()
    demand = Demand(seed=seed, keys=len(shops), rate=trading.rate, scenario=shape)
    source = f"sim:{seed}:{uuid4().hex[:12]}"
    done = Traded(scenario=trading.scenario, seed=seed)
    shop_floor = ShopFloor(source, shape, demand, shops, real_shelves(seed), Counting(done), done)
    _prepare(shop_floor, trading.minutes)
    _trade(shop_floor, demand, trading.minutes, _staff(shop_floor, trading), progress)
    return done


def _prepare(shop_floor: ShopFloor, minutes: float) -> None:
    """Buy the goods that the run, or at most its first hour, will sell. Reduce hot items' prices.

    Buy nothing if the run has no end, or if customers of its scenario can buy units that no shelf
    has.
    """
    if shop_floor.scenario.is_limited and minutes:
        seconds = min(minutes * 60, LONGEST_BUY_IN_S)
        shop_floor.done.bought_in = buy_in(shop_floor, seconds)
    cut_prices(shop_floor)


def _staff(shop_floor: ShopFloor, trading: Trading) -> StaffThread | None:
    if not shop_floor.scenario.is_limited:
        return None
    deliveries = Deliveries(
        seed=trading.seed,
        scenario=shop_floor.scenario,
        shelves=shop_floor.shelves,
        done=shop_floor.done,
        at_once=trading.at_once,
        since=database_now(),
    )
    habits = Habits(trading.patience_s, trading.at_once, trading.left_permille)
    return StaffThread(
        Staff(
            trading.seed,
            habits,
            deliveries,
            shop_floor.counting,
            shop_floor.done,
            shop_floor.reload_prices,
        )
    )


def _trade(
    shop_floor: ShopFloor,
    demand: Demand,
    minutes: float,
    staff: StaffThread | None,
    progress: Progress | None,
) -> None:
    done = shop_floor.done
    reported = began = time.monotonic()
    ends = began + minutes * 60 if minutes else inf
    if staff is not None:
        staff.start()
    try:
        with _noted_interrupt(done):
            for number in count():
                due = began + number / TICKS_PER_S
                if due >= ends or (staff is not None and staff.is_broken):
                    break
                _sleep_until(due)
                # The goods of a tick leave the shelf once; only its write is retried.
                retry_on_database_loss(shop_floor.prepare_tick(demand.tick(number)))
                now = time.monotonic()
                done.seconds, done.behind_s = now - began, max(0.0, now - due)
                if now - reported >= REPORT_EVERY_S:
                    reported = now
                    _report(progress, done)
        retry_on_database_loss(shop_floor.prepare_held())
        done.seconds = max(done.seconds, min(ends, time.monotonic()) - began)
    finally:
        if staff is not None:
            staff.finish()
    _report(progress, done)


@contextmanager
def _noted_interrupt(done: Traded) -> Iterator[None]:
    """At Ctrl-C, end the block without an error and note the interruption in `done`.

    Ctrl-C is the normal end of a run without a limit.
    """
    try:
        yield
    except KeyboardInterrupt:
        done.is_interrupted = True


def _report(progress: Progress | None, text: object) -> None:
    if progress is not None:
        progress(text)


def _sleep_until(due: float) -> None:
    ahead = due - time.monotonic()
    if ahead > 0:
        time.sleep(ahead)

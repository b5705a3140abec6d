"""`inventory simulate`: seeded trading on the demo retailer, through the services, open loop.

Ticks are due at planned times, and a late writer catches up instead of skipping them. The demand
follows from seed and tick alone; the sales also depend on the shelves.
"""

import time
from collections.abc import Callable
from itertools import count
from math import inf, isfinite
from typing import Final
from uuid import uuid4

from bench.retailer.buyers import Habits
from bench.retailer.buying_in import buy_in, cut_prices
from bench.retailer.counting import Counting
from bench.retailer.demand import TICKS_PER_S, Demand
from bench.retailer.demo import seed_demo
from bench.retailer.goods import Goods
from bench.retailer.scenarios import scenario_named
from bench.retailer.shelves import real_shelves, shops_of_demo
from bench.retailer.staff import Staff, StaffThread, patiently
from bench.retailer.tally import Traded
from bench.retailer.tills import Tills
from ledger.kernel.transactions import database_now
from ledger.services import ServiceError

__all__ = ["Traded", "run"]

REPORT_EVERY_S: Final = 5.0
# A run without end buys nothing in: buyers keep up with an ordinary day.
LONGEST_BUY_IN_S: Final = 3600.0

Progress = Callable[[object], None]


def run(  # noqa: PLR0913 -- one keyword per option of the command
    *,
    seed: int = 1,
    rate: float = 5.0,
    minutes: float = 1.0,
    scenario: str = "normal",
    size: str = "demo",
    left_permille: int = 0,
    patience_s: float = 5.0,
    progress: Progress | None = None,
) -> Traded:
    """Trade for `minutes` (0 = until interrupted) at `rate` sale lines a second.

    If no item is ranged, the demo retailer is written first, in `size`. Simulated buyers decide
    proposals older than `patience_s`, and leave `left_permille` of them to people.
    """
    _check(rate, minutes)
    shape = scenario_named(scenario)
    shops = shops_of_demo()
    if not shops:
        _tell(progress, "nothing is ranged here: the demo retailer is written first")
        seed_demo(size=size, progress=progress)
        shops = shops_of_demo()
    demand = Demand(seed=seed, keys=len(shops), rate=rate, scenario=shape)
    source = f"sim:{seed}:{uuid4().hex[:12]}"
    done = Traded(scenario=scenario, seed=seed)
    tills = Tills(source, shape, demand, shops, real_shelves(seed), Counting(done), done)
    _prepare(tills, minutes)
    staff = _staff(tills, seed, rate, Habits(patience_s, max(20, int(rate / 4)), left_permille))
    _trade(tills, demand, minutes, staff, progress)
    return done


def _check(rate: float, minutes: float) -> None:
    if not (isfinite(rate) and rate > 0):
        name = "rate"
        raise ServiceError(name, rate, "sale lines a second, a finite number above 0")
    if not (isfinite(minutes) and minutes >= 0):
        name = "minutes"
        raise ServiceError(name, minutes, "a finite number of 0 (until Ctrl-C) or more")


def _prepare(tills: Tills, minutes: float) -> None:
    """Buy in goods for the day and write promotion prices."""
    if tills.scenario.is_limited and minutes:
        seconds = min(minutes * 60, LONGEST_BUY_IN_S)
        tills.done.bought_in = buy_in(tills, seconds)
    cut_prices(tills)


def _staff(tills: Tills, seed: int, rate: float, habits: Habits) -> StaffThread | None:
    if not tills.scenario.is_limited:
        return None
    goods = Goods(
        seed=seed,
        scenario=tills.scenario,
        shelves=tills.shelves,
        done=tills.done,
        at_once=max(20, int(rate / 4)),
        since=database_now(),
    )
    return StaffThread(Staff(seed, habits, goods, tills.counting, tills.done, tills.look))


def _trade(
    tills: Tills,
    demand: Demand,
    minutes: float,
    staff: StaffThread | None,
    progress: Progress | None,
) -> None:
    done = tills.done
    reported = began = time.monotonic()
    ends = began + minutes * 60 if minutes else inf
    if staff is not None:
        staff.start()
    try:
        for number in count():
            due = began + number / TICKS_PER_S
            if due >= ends or (staff is not None and staff.is_broken):
                break
            _sleep_until(due)
            # The tick is planned and taken from the shelf once; its write is retried.
            patiently(tills.writer(demand.tick(number)))
            now = time.monotonic()
            done.seconds, done.behind_s = now - began, max(0.0, now - due)
            if now - reported >= REPORT_EVERY_S:
                reported = now
                _tell(progress, done)
        patiently(tills.writer_of_held())
        done.seconds = max(done.seconds, min(ends, time.monotonic()) - began)
    finally:
        if staff is not None:
            staff.finish()
    _tell(progress, done)


def _tell(progress: Progress | None, text: object) -> None:
    if progress is not None:
        progress(text)


def _sleep_until(due: float) -> None:
    ahead = due - time.monotonic()
    if ahead > 0:
        time.sleep(ahead)

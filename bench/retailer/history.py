"""Planned history of a chain over ninety days: the real shelf and the recorded book.

The shelf has the real units. The book has the recorded units: the sum of the facts. Nothing is sold
from an empty shelf. A theft changes only the shelf. A count sets the book to the units on the
shelf. So the facts of this history contain phantom stock, variances and unseen demand, like the
facts of a real retailer. Seed and final midnight determine everything.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import accumulate
from operator import attrgetter
from random import Random
from typing import Final

from bench.retailer.history_values import Closing, Day, History, Tally
from bench.retailer.poisson import poisson
from bench.retailer.resupply import Resupply, Shelf
from bench.retailer.retailer import HISTORY_DAYS, PlannedKey
from bench.retailer.seasons import (
    PROMOTION_CUT_PERMILLE,
    PROMOTION_LIFT,
    Promotion,
    day_factor,
    moment_of_sale,
    promotions,
)
from ledger.services import PastAdjustment, PastCount, PastPrice, RecordSale

THEFTS_PER_DAY: Final = 0.0025
DAMAGED_PER_DAY: Final = 0.0012
COUNTS_PER_DAY: Final = 1 / 160
RETURNED_PERCENT: Final = 4
TWO_UNITS_PERCENT: Final = 22
# Percentage of phantom items (empty shelf, stock in the book) that staff notice and count in a day.
NOTICED_PERCENT: Final = 12
MISCOUNTED_PERCENT: Final = 2
# An offline till sends the sales of the evening on the next day.
OFFLINE_EVENINGS_PERMILLE: Final = 8
EVENING_HOUR: Final = 17
PRICE_MINOR_STEP: Final = 50
FORGOTTEN_DAYS: Final = 25  # forgotten keys are not reordered in the last 25 days


@dataclass(slots=True)
class _Planned:
    """The planned demand, losses and counts of one key, by day number."""

    demand: dict[int, int]
    thefts: frozenset[int]
    damaged: frozenset[int]
    counted: frozenset[int]
    random: Random


@dataclass(slots=True)
class _Chain:
    """The state of the simulated chain."""

    seed: int
    midnight: datetime
    keys: list[PlannedKey]
    shelves: dict[str, Shelf]
    planned: dict[str, _Planned]
    resupply: Resupply
    leaflets: list[Promotion]
    agenda: list[set[int]]  # by day: indexes of the keys with events
    touched: set[int]
    phantom: set[int] = field(default_factory=set)
    returned: dict[datetime, list[PlannedKey]] = field(default_factory=lambda: defaultdict(list))
    days: dict[datetime, Day] = field(default_factory=lambda: defaultdict(Day))
    tally: Tally = field(default_factory=Tally)


def plan_history(seed: int, midnight: datetime, keys: list[PlannedKey]) -> History:
    """Return the history of the chain in the ninety days before `midnight`."""
    chain = _chain(seed, midnight, keys)
    openings = {key: shelf.in_book for key, shelf in chain.shelves.items()}
    for number in range(HISTORY_DAYS):
        _simulate_day(chain, number)
    chain.resupply.write_under_way(chain.days[midnight - timedelta(days=1)])
    _miscount_openings(chain, openings)
    tally = chain.tally
    closings = {key: Closing(s.on_shelf, s.in_book) for key, s in chain.shelves.items()}
    tally.phantom_keys = sum(c.on_shelf <= 0 < c.in_book for c in closings.values())
    tally.orders, tally.transfers = chain.resupply.orders, chain.resupply.transfers
    for day in chain.days.values():
        # Sort by business time within the day; sales that a till sends late come first.
        day.sales.sort(key=attrgetter("occurred_at"))
    return History(dict(sorted(chain.days.items())), openings, closings, tally)


def _chain(seed: int, midnight: datetime, keys: list[PlannedKey]) -> _Chain:
    first = midnight - timedelta(days=HISTORY_DAYS)
    leaflets = promotions(seed, first.date(), midnight.date())
    factors = _factors(first, leaflets, keys)
    planned = {
        key.inv_key: _plan_key(
            seed, key, factors[key.item.season, _leaflet_of(seed, key, leaflets)]
        )
        for key in keys
    }
    touched = set(range(len(keys)))
    shelves = {
        key.inv_key: _opening(planned[key.inv_key].random, key, place, touched)
        for place, key in enumerate(keys)
    }
    resupply = Resupply(seed, midnight, {key.inv_key: key for key in keys}, shelves)
    agenda = _agenda([planned[key.inv_key] for key in keys])
    return _Chain(seed, midnight, keys, shelves, planned, resupply, leaflets, agenda, touched)


def _agenda(planned: list[_Planned]) -> list[set[int]]:
    """Return, for each day, the indexes of the keys with planned demand, losses or counts."""
    agenda: list[set[int]] = [set() for _ in range(HISTORY_DAYS)]
    for place, one in enumerate(planned):
        for day in (*one.demand, *one.thefts, *one.damaged, *one.counted):
            agenda[day].add(place)
    return agenda


def _leaflet_of(seed: int, key: PlannedKey, leaflets: list[Promotion]) -> int | None:
    """Return the number of the first promotion that includes the item, or None."""
    return next(
        (
            leaflet.number
            for leaflet in leaflets
            if leaflet.department == key.item.department and leaflet.includes(key.item.sku, seed)
        ),
        None,
    )


def _factors(
    first: datetime, leaflets: list[Promotion], keys: list[PlannedKey]
) -> dict[tuple[str, int | None], list[float]]:
    """Return running sums of the daily demand factors, by season and promotion number."""
    days = [(first + timedelta(days=number)).date() for number in range(HISTORY_DAYS)]
    found: dict[tuple[str, int | None], list[float]] = {}
    for season in {key.item.season for key in keys}:
        plain = [day_factor(season, day) for day in days]
        found[season, None] = list(accumulate(plain))
        for leaflet in leaflets:
            lifted = [
                factor * (PROMOTION_LIFT if leaflet.is_on(day) else 1.0)
                for factor, day in zip(plain, days, strict=True)
            ]
            found[season, leaflet.number] = list(accumulate(lifted))
    return found


def _plan_key(seed: int, key: PlannedKey, factors: list[float]) -> _Planned:
    random = Random(f"{seed}:history:{key.inv_key}")  # noqa: S311 -- a demo, not a secret
    days = range(HISTORY_DAYS)
    demand: dict[int, int] = defaultdict(int)
    if key.is_store:
        lines = poisson(random, key.daily_units * factors[-1])
        for day in random.choices(days, cum_weights=factors, k=lines):
            demand[day] += 1

    def some(per_day: float) -> frozenset[int]:
        return frozenset(random.choices(days, k=poisson(random, per_day * HISTORY_DAYS)))

    if not key.is_store:
        return _Planned(demand, frozenset(), frozenset(), some(COUNTS_PER_DAY / 3), random)
    counted = frozenset() if key.fate == "miscounted" else some(COUNTS_PER_DAY)
    return _Planned(demand, some(THEFTS_PER_DAY), some(DAMAGED_PER_DAY), counted, random)


def _opening(random: Random, key: PlannedKey, place: int, touched: set[int]) -> Shelf:
    units = random.randint(key.reorder_point_units + 1, key.order_up_to_units)
    if key.fate == "too_much":
        units += 12 + int(key.daily_units * 200)
    return Shelf(units, units, place, touched)


def _simulate_day(chain: _Chain, number: int) -> None:
    """Simulate one day: deliveries in the morning, customers, then the evening's work."""
    begins = chain.midnight - timedelta(days=HISTORY_DAYS - number)
    today = chain.days[begins]
    chain.resupply.arrive(number, today)
    offline = _offline(chain, number)
    for key in chain.returned.pop(begins, []):
        chain.shelves[key.inv_key].move(1)
    _mark_prices(chain, begins, today)
    # Stores first: transfers to stores reduce the stock of warehouses, which then reorder in the
    # same evening.
    for is_store in (True, False):
        busy = chain.agenda[number] | chain.touched | chain.phantom
        for place in sorted(busy):
            key = chain.keys[place]
            if key.is_store == is_store:
                wanted = chain.planned[key.inv_key].demand.get(number, 0)
                if wanted:
                    lines = _sell(chain, key, begins, wanted)
                    _file_lines(chain, begins, lines, is_late=key.location in offline)
                _evening(chain, place, number, today, begins)


def _evening(chain: _Chain, place: int, number: int, today: Day, begins: datetime) -> None:
    """Apply the day's losses and counts of a key; reorder it if its recorded units changed."""
    key = chain.keys[place]
    shelf = chain.shelves[key.inv_key]
    _losses_and_counts(chain, key, number, today, begins)
    if shelf.is_phantom:
        chain.phantom.add(place)
    else:
        chain.phantom.discard(place)
    if place in chain.touched:
        chain.touched.discard(place)
        if number < HISTORY_DAYS - FORGOTTEN_DAYS or key.fate != "forgotten":
            chain.resupply.reorder(key, number)


def _offline(chain: _Chain, number: int) -> set[str]:
    random = Random(f"{chain.seed}:offline:{number}")  # noqa: S311 -- a demo, not a secret
    if number == HISTORY_DAYS - 1:
        return set()
    stores = sorted({key.location for key in chain.keys if key.is_store})
    return {store for store in stores if random.randrange(1000) < OFFLINE_EVENINGS_PERMILLE}


def _mark_prices(chain: _Chain, begins: datetime, today: Day) -> None:
    """Write promotion prices on the first day of a promotion, and regular ones at its end."""
    day = begins.date()
    for leaflet in chain.leaflets:
        if day not in (leaflet.begins, leaflet.ends):
            continue
        for key in chain.keys:
            item = key.item
            if (
                key.is_store
                and item.department == leaflet.department
                and leaflet.includes(item.sku, chain.seed)
            ):
                price = promoted_minor(key) if day == leaflet.begins else item.regular_minor
                floor = item.floor_minor
                today.prices.append(PastPrice(key.location, item.sku, price, floor, begins))


def promoted_minor(key: PlannedKey) -> int:
    """Return the promotion price: the reduced regular price, rounded, but at least the floor."""
    item = key.item
    cut = item.regular_minor * (1000 - PROMOTION_CUT_PERMILLE) // 1000
    return max(item.floor_minor, cut // PRICE_MINOR_STEP * PRICE_MINOR_STEP - 1)


def _price_at(chain: _Chain, key: PlannedKey, begins: datetime) -> int:
    item = key.item
    for leaflet in chain.leaflets:
        if (
            leaflet.department == item.department
            and leaflet.is_on(begins.date())
            and leaflet.includes(item.sku, chain.seed)
        ):
            return promoted_minor(key)
    return item.regular_minor


def _sell(chain: _Chain, key: PlannedKey, begins: datetime, wanted: int) -> list[RecordSale]:
    """Return a line for each of `wanted` customers, limited by the units on the shelf."""
    shelf, random = chain.shelves[key.inv_key], chain.planned[key.inv_key].random
    price = _price_at(chain, key, begins)
    lines = []
    for _ in range(wanted):
        units = 2 if random.randrange(100) < TWO_UNITS_PERCENT else 1
        sold = min(units, max(0, shelf.on_shelf))
        chain.tally.units_lost += units - sold
        if not sold:
            continue
        shelf.move(-sold)
        at = moment_of_sale(random, begins)
        lines.append(_line(chain, key, sold, price, at))
        if random.randrange(100) < RETURNED_PERCENT:
            _bring_back(chain, key, begins, price)
    return lines


def _line(
    chain: _Chain,
    key: PlannedKey,
    units: int,
    price: int,
    at: datetime,
    condition: str = "resaleable",
) -> RecordSale:
    chain.tally.sale_lines += 1
    chain.tally.units_sold += max(0, units)
    return RecordSale(
        location=key.location,
        sku=key.item.sku,
        source=f"demo:{chain.seed}:{chain.midnight:%Y-%m-%d}",
        source_ref=str(chain.tally.sale_lines),
        quantity_units=units,
        amount_minor=units * price,
        occurred_at=at,
        condition=condition,
    )


def _bring_back(chain: _Chain, key: PlannedKey, begins: datetime, price: int) -> None:
    """Plan the return of one unit 1 to 5 days later; 80 % of these units are fit for sale."""
    random = chain.planned[key.inv_key].random
    day = begins + timedelta(days=random.randrange(1, 6))
    if day >= chain.midnight:
        return
    condition = random.choices(("resaleable", "damaged", "discarded"), (80, 15, 5))[0]
    line = _line(chain, key, -1, price, moment_of_sale(random, day), condition)
    chain.days[day].sales.append(line)
    if condition == "resaleable":
        chain.returned[day].append(key)


def _file_lines(chain: _Chain, begins: datetime, lines: list[RecordSale], *, is_late: bool) -> None:
    """Add sale lines to the facts of their day.

    If `is_late`, the till was offline: evening lines arrive with the facts of the next day.
    """
    for line in lines:
        sold_at = line.occurred_at
        held = is_late and sold_at is not None and sold_at.hour >= EVENING_HOUR
        chain.tally.late_lines += held
        chain.days[begins + timedelta(days=int(held))].sales.append(line)


def _losses_and_counts(
    chain: _Chain, key: PlannedKey, number: int, today: Day, begins: datetime
) -> None:
    planned, shelf = chain.planned[key.inv_key], chain.shelves[key.inv_key]
    random = planned.random
    if number in planned.thefts and shelf.on_shelf > 0:
        shelf.on_shelf -= 1
        chain.tally.thefts += 1
    if number in planned.damaged and shelf.on_shelf > 0:
        shelf.move(-1)
        at = begins + timedelta(hours=21, minutes=random.randrange(20))
        reason = random.choice(("damage", "waste"))
        today.adjustments.append(PastAdjustment(key.location, key.item.sku, reason, 1, at))
    is_seen = shelf.is_phantom and key.fate != "miscounted"
    if number in planned.counted or (is_seen and random.randrange(100) < NOTICED_PERCENT):
        _count(chain, key, today, begins)


def _count(chain: _Chain, key: PlannedKey, today: Day, begins: datetime) -> None:
    """Count the shelf after closing time; 2 in 100 counts are off by one."""
    shelf, random = chain.shelves[key.inv_key], chain.planned[key.inv_key].random
    found = shelf.on_shelf
    if found > 1 and random.randrange(100) < MISCOUNTED_PERCENT:
        found += random.choice((-1, 1))
    chain.tally.counts += 1
    chain.tally.variances += found != shelf.in_book
    shelf.in_book = found
    chain.touched.add(shelf.place)
    at = begins + timedelta(hours=21, minutes=30 + random.randrange(25))
    today.counts.append(PastCount(key.location, key.item.sku, found, at))


def _miscount_openings(chain: _Chain, openings: dict[str, int]) -> None:
    """Lower the opening counts of `miscounted` keys, so that their recorded stock ends below 0.

    Skip a key whose opening count is too small for this.
    """
    for key in chain.keys:
        if key.fate != "miscounted":
            continue
        shelf, random = chain.shelves[key.inv_key], chain.planned[key.inv_key].random
        missing = shelf.in_book + random.randrange(1, 4)
        if missing <= openings[key.inv_key]:
            openings[key.inv_key] -= missing
            shelf.in_book -= missing

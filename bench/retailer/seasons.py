"""Demand by hour, weekday, season and promotion, for simulated trade only."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from math import cos, pi
from random import Random
from typing import Final

from bench.retailer.catalogue import DEPARTMENTS

# Monday first. Shops open for fewer hours on Sunday.
WEEKDAYS: Final = (0.85, 0.85, 0.9, 1.0, 1.2, 1.5, 0.7)
OPENS_AT: Final = (8, 8, 8, 8, 8, 8, 11)
CLOSES_AT: Final = (20, 20, 20, 20, 21, 21, 18)
# Percentage of a day's customers in each tenth of the opening hours: peaks at lunch and after work.
TENTHS: Final = (4, 7, 10, 12, 13, 10, 9, 13, 14, 8)
GIFT_DAYS: Final = 35
PROMOTION_DAYS: Final = 10
PROMOTION_EVERY_DAYS: Final = 13
PROMOTED_PERMILLE: Final = 60
PROMOTION_LIFT: Final = 2.2
PROMOTION_CUT_PERMILLE: Final = 150


@dataclass(frozen=True, slots=True)
class Promotion:
    """A department's promotion: some items are cheaper and sell better for ten days."""

    department: str
    begins: date
    ends: date
    number: int

    def is_on(self, day: date) -> bool:
        """Return True if `day` is a day of the promotion."""
        return self.begins <= day < self.ends

    def includes(self, sku: str, seed: int) -> bool:
        """Return True if `sku` is in the promotion; about a third of the department's items are."""
        random = Random(f"{seed}:promotion:{self.number}:{sku}")  # noqa: S311 -- traffic
        return random.randrange(1000) < PROMOTED_PERMILLE * len(DEPARTMENTS) // 2


def promotions(seed: int, first: date, last: date) -> list[Promotion]:
    """Return the promotions between two days; the seed decides the order of the departments."""
    names = [department.name for department in DEPARTMENTS]
    Random(f"{seed}:promotions").shuffle(names)  # noqa: S311 -- traffic
    made: list[Promotion] = []
    begins = first + timedelta(days=4)
    while begins < last:
        name = names[len(made) % len(names)]
        ends = begins + timedelta(days=PROMOTION_DAYS)
        made.append(Promotion(name, begins, ends, len(made)))
        begins += timedelta(days=PROMOTION_EVERY_DAYS)
    return made


def season_factor(season: str, day: date) -> float:
    """Return the factor for the sales of a season's items on `day`; 1 is the average."""
    of_year = day.timetuple().tm_yday / 365.25
    summer = cos(2 * pi * (of_year - 0.54))
    if season == "summer":
        return 1.0 + 0.7 * summer
    if season == "winter":
        return 1.0 - 0.5 * summer
    if season == "gifts":
        to_holidays = (date(day.year, 12, 25) - day).days
        return 1.9 if 0 <= to_holidays <= GIFT_DAYS else 0.85
    return 1.0


def day_factor(season: str, day: date) -> float:
    """Return the product of the factors of weekday and season; over a year it is about 1."""
    return WEEKDAYS[day.weekday()] * season_factor(season, day)


def open_hours(day: datetime) -> tuple[datetime, datetime]:
    """Return the opening and closing time on the day that begins at `day`."""
    weekday = day.weekday()
    return (
        day + timedelta(hours=OPENS_AT[weekday]),
        day + timedelta(hours=CLOSES_AT[weekday]),
    )


def moment_of_sale(random: Random, day: datetime) -> datetime:
    """Return a random time within the opening hours, more often in busy hours."""
    opens, closes = open_hours(day)
    tenth = random.choices(range(10), TENTHS)[0]
    seconds = (closes - opens).total_seconds()
    return opens + timedelta(seconds=int(seconds * (tenth + random.random()) / 10))

"""Convert the figures of one key to texts for pages.

The figures come from a row of the read model or from a record of the changelog. `status_of` returns
the status, for example "low". `STATUS_SQL` is the same rule in SQL. A test compares both versions.
"""

from typing import Final

from django.utils.translation import gettext

from cdc.contracts import times
from inventory.explain.formatting import UNKNOWN, centidays_text, micro_text, money_text, units_text
from inventory.pricing.signals import cover_centidays, supply
from ledger.messages import gettext_noop, translated
from ledger.nouns import counted
from webui.translation.messages import translate

__all__ = [
    "LABELS",
    "MEANINGS",
    "PRICED_AT_SQL",
    "PRICE_SQL",
    "STATUSES",
    "STATUS_SQL",
    "Covered",
    "age_text",
    "bytes_text",
    "centidays_text",
    "counted_text",
    "cover_of",
    "cover_text",
    "is_beyond_a_year",
    "micro_text",
    "money_text",
    "signed_counted_text",
    "signed_money_text",
    "signed_units_text",
    "status_of",
    "time_text",
    "units_text",
]

LONGEST_COVER_CENTIDAYS: Final = 365 * 100
STATUSES: Final = ("negative", "out", "low", "over", "ok")
LABELS: Final = {
    "negative": gettext_noop("Negative"),
    "out": gettext_noop("Out"),
    "low": gettext_noop("Low"),
    "over": gettext_noop("Over"),
    "ok": gettext_noop("OK"),
}
MEANINGS: Final = {
    "negative": gettext_noop("on-hand is below zero: something was not counted or not received"),
    "out": gettext_noop("nothing available to sell"),
    "low": gettext_noop("the available units are at or below the reorder point"),
    "over": gettext_noop("on-hand is above the order-up-to level"),
    "ok": gettext_noop("between the reorder point and the order-up-to level"),
}
STATUS_SQL: Final = """CASE
    WHEN s.on_hand_units < 0 THEN 'negative'
    WHEN s.available_to_sell_units <= 0 THEN 'out'
    WHEN s.available_to_sell_units <= s.reorder_point_units THEN 'low'
    WHEN s.on_hand_units > s.order_up_to_units THEN 'over'
    ELSE 'ok' END"""

# Read the price in force from the ledger. The row `s` has the price at the last record of its key.
# A scheduled price takes effect without a record, so the row can be out of date for up to a day.
PRICE_SQL: Final = """coalesce((
    SELECT force.price_minor FROM retail.price_at(s.inv_key, statement_timestamp()) AS force),
    s.price_minor)"""
# The time at which the price was read. It may be later than the as-of time of the row.
PRICED_AT_SQL: Final = "(extract(epoch FROM statement_timestamp()) * 1000000)::bigint"


def status_of(
    *,
    on_hand_units: int,
    available_to_sell_units: int,
    reorder_point_units: int | None,
    order_up_to_units: int | None,
) -> str:
    """Return the status of a key, for example "low": the first one whose condition is true."""
    if on_hand_units < 0:
        return "negative"
    if available_to_sell_units <= 0:
        return "out"
    if reorder_point_units is not None and available_to_sell_units <= reorder_point_units:
        return "low"
    if order_up_to_units is not None and on_hand_units > order_up_to_units:
        return "over"
    return "ok"


def cover_of(*, available_to_sell_units: int, in_transit_units: int, rate_micro: int) -> int | None:
    """Return the hundredths of days for which the stock lasts (docs/domain.md 6.1).

    Return None without demand. `rate_micro` is the demand in millionths of a unit per day.
    """
    units = supply(available_units=available_to_sell_units, in_transit_units=in_transit_units)
    return cover_centidays(supply_units=units, rate_micro=rate_micro)


class Covered:
    """A row with available units, units in transit and a demand rate."""

    __slots__ = ()

    available_to_sell_units: int
    in_transit_units: int
    rate_micro: int

    @property
    def cover_centidays(self) -> int | None:
        """Return the time that the stock lasts, in hundredths of days; None without demand."""
        return cover_of(
            available_to_sell_units=self.available_to_sell_units,
            in_transit_units=self.in_transit_units,
            rate_micro=self.rate_micro,
        )


def is_beyond_a_year(centidays: int | None) -> bool:
    """Return True for a cover of more than 365 days. None (no demand) gives False."""
    return centidays is not None and centidays > LONGEST_COVER_CENTIDAYS


def cover_text(centidays: int | None) -> str:
    """Return a cover as text, rounded down: `0.4 d` or `12 d`; "no demand" for None.

    A cover above a year gives "hardly sells", because it isn't reliable: one more sale would halve
    it.
    """
    if centidays is None:
        return gettext("no demand")
    if is_beyond_a_year(centidays):
        return gettext("hardly sells")
    days, rest = divmod(centidays, 100)
    # From ten days on, the demand estimate is not precise enough for tenths.
    return f"{days:,} d" if days >= 10 else f"{days}.{rest // 10} d"  # noqa: PLR2004 -- see above


def signed_units_text(units: int | None) -> str:
    """Return a movement with its sign: `+12`, `−3`, `0`; a dash for None."""
    if units is not None and units > 0:
        return f"+{units:,}"
    return units_text(units)


def signed_money_text(minor: int | None) -> str:
    """Return an amount in minor units with its sign: `+1.20`, `−3.00`, `0.00`; a dash for None."""
    return f"+{money_text(minor)}" if minor is not None and minor > 0 else money_text(minor)


def counted_text(number: int, noun: str) -> str:
    """Return a number with a noun of `ledger.nouns`: `1 unit`, `1,200 units`."""
    return translated(counted(number, noun), translate)


def signed_counted_text(number: int, noun: str) -> str:
    """Return a movement with its sign and a noun: `+1 unit`, `−3 units`, `0 units`."""
    return translated(counted(number, noun, signed_units_text(number)), translate)


def time_text(at_us: int | None) -> str:
    """Return a time like `2026-11-21 10:42:07`, UTC; a dash for None."""
    return UNKNOWN if at_us is None else times.time_text(at_us)


def age_text(age_us: int | None) -> str:
    """Return an age like `0.3 s`, `12 s`, `4 min`, `3 h` or `2 d`; "unknown" for None."""
    if age_us is None:
        return gettext("unknown")
    tenths = max(0, age_us) // 100_000
    seconds = tenths // 10
    if seconds < 10:  # noqa: PLR2004 -- below ten seconds, tenths are useful
        return f"{seconds}.{tenths % 10} s"
    for size, unit in ((86_400, "d"), (3_600, "h"), (120, "min")):
        if seconds >= size:
            return f"{seconds // (60 if unit == 'min' else size)} {unit}"
    return f"{seconds} s"


def bytes_text(size: int | None) -> str:
    """Return a size like `512 B`, `12.4 MiB` or `1.0 GiB`; "unknown" for None."""
    if size is None:
        return gettext("unknown")
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            tenths = size * 10 // factor
            return f"{tenths // 10:,}.{tenths % 10} {unit}"
    return f"{size} B"

"""The signals, conditions on which a rule proposes another price (domain.md 6.1)."""

from inventory.model.arithmetic import DAY_US, MINUTE_US, WINDOW_US, ceil_div
from inventory.model.policy import ItemLocation
from inventory.model.state import WindowRow
from inventory.model.value import value

OBSERVED_DAYS_NEEDED = 14
DOWN, UP = -1, 1
BELOW_FLOOR, SCARCE, OVERSTOCK = "below_floor", "scarce", "overstock"
IDLE, RESTORE = "idle", "restore"
SIGNALS = (BELOW_FLOOR, SCARCE, OVERSTOCK, IDLE, RESTORE)  # in order of precedence


@value
class Signal:
    """A signal that applies, with the price step to propose.

    `side` is `UP` if the price has to rise and `DOWN` if it has to fall.
    """

    name: str
    step: int
    side: int


@value
class RecentSales:
    """The window rows from which the sales of the 24 hours before `end_us` are summed.

    Few evaluations need this sum, so `units` computes it only when it is called.
    """

    windows: dict[int, WindowRow]
    end_us: int

    def units(self) -> int:
        """Return the units sold in the 144 windows of the 24 hours before `end_us`."""
        first_us, end_us = self.end_us - DAY_US, self.end_us
        rows = self.windows.items()
        return sum([row.sold_units for start_us, row in rows if first_us <= start_us < end_us])


@value
class Market:
    """The inputs of the signals: stock, supply and demand of the key (domain.md 6.1).

    `available_units` is on-hand - allocated. `rate_micro` is the demand rate d in micro-units a
    day. If `is_observed` is False, only the signal `below_floor` can apply.
    """

    available_units: int
    supply_units: int
    rate_micro: int
    recent_sales: RecentSales
    quiet_windows: int
    is_observed: bool

    def cover_centidays(self) -> int | None:
        """Return how long the supply lasts, in hundredths of a day; None for a demand of 0."""
        return cover_centidays(supply_units=self.supply_units, rate_micro=self.rate_micro)


def supply(*, available_units: int, in_transit_units: int) -> int:
    """Return the units that can cover demand: max(0, available-to-sell) + max(0, in-transit)."""
    return max(0, available_units) + max(0, in_transit_units)


def cover_centidays(*, supply_units: int, rate_micro: int) -> int | None:
    """Return how long the supply lasts: supply·10^8 // d hundredths of a day, or None for d = 0."""
    return None if rate_micro == 0 else supply_units * 100_000_000 // rate_micro


def effective_at_us(stream_time_us: int, lead_minutes: int) -> int:
    """Return the first window start at or after stream time + `lead_minutes` (domain.md 6.2).

    Prices change only at window starts, so all sales of a window have the same price in force.
    """
    return ceil_div(stream_time_us + lead_minutes * MINUTE_US, WINDOW_US) * WINDOW_US


def first_signal(
    policy: ItemLocation, market: Market, step: int, *, is_below_floor: bool
) -> Signal | None:
    """Return the first signal of domain.md 6.1 that applies, or None.

    `step` is the price step in force: 0 regular, ≥ 1 reduced, < 0 raised. If `market.is_observed`
    is False, only `below_floor` can apply.
    """
    if is_below_floor:
        return Signal(BELOW_FLOOR, step, UP)
    if not market.is_observed:
        return None
    if _is_scarce(policy, market):
        return Signal(SCARCE, step - 1, UP)
    if market.available_units > 0:
        cover = market.cover_centidays()
        if cover is None or cover > policy.overstock_days * 100:
            return Signal(OVERSTOCK, step + 1, DOWN)
        if market.quiet_windows >= policy.idle_days * policy.trading_windows:
            return Signal(IDLE, step + 1, DOWN)
    return _restore(policy, market, step)


def _is_scarce(policy: ItemLocation, market: Market) -> bool:
    cover = market.cover_centidays()
    return (
        policy.scarce_enabled
        and market.rate_micro > 0
        and cover is not None
        and cover < policy.scarce_days * 100
        and 1000 * market.recent_sales.units() * 1_000_000 >= 1500 * market.rate_micro
    )


def _restore(policy: ItemLocation, market: Market, step: int) -> Signal | None:
    if step < 0:
        return Signal(RESTORE, step + 1, DOWN)
    cover = market.cover_centidays()
    if step > 0 and cover is not None and cover < policy.restore_days * 100:
        return Signal(RESTORE, step - 1, UP)
    return None

"""The signals for another price (domain.md 6.1). The first that holds wins."""

from inventory.model.arithmetic import MINUTE_US, WINDOW_US, ceil_div
from inventory.model.policy import ItemLocation
from inventory.model.value import value

OBSERVED_DAYS_NEEDED = 14
DOWN, UP = -1, 1
BELOW_FLOOR, SCARCE, OVERSTOCK = "below_floor", "scarce", "overstock"
IDLE, RESTORE = "idle", "restore"
SIGNALS = (BELOW_FLOOR, SCARCE, OVERSTOCK, IDLE, RESTORE)  # in order of precedence


@value
class Signal:
    """A signal's step; `side` is `DOWN` if the price has to fall and `UP` if it has to rise."""

    name: str
    step: int
    side: int


@value
class Market:
    """The inputs of the signals: stock, supply and demand of the key."""

    available_units: int
    supply_units: int
    rate_micro: int
    sold_last_24h_units: int
    quiet_windows: int
    is_observed: bool

    def cover_centidays(self) -> int | None:
        """Return the cover of the supply in centidays. None is unbounded, for a demand of 0."""
        return cover_centidays(supply_units=self.supply_units, rate_micro=self.rate_micro)


def supply(*, available_units: int, in_transit_units: int) -> int:
    """Return the units available and in transit; each counts as 0 if negative."""
    return max(0, available_units) + max(0, in_transit_units)


def cover_centidays(*, supply_units: int, rate_micro: int) -> int | None:
    """Return the centidays that the supply lasts at this daily rate, floored. None: no demand."""
    return None if rate_micro == 0 else supply_units * 100_000_000 // rate_micro


def effective_at_us(stream_time_us: int, lead_minutes: int) -> int:
    """Return the start of the first window after the lead time, so that a window has one price."""
    return ceil_div(stream_time_us + lead_minutes * MINUTE_US, WINDOW_US) * WINDOW_US


def first_signal(
    policy: ItemLocation, market: Market, step: int, *, is_below_floor: bool
) -> Signal | None:
    """Return the first signal that holds. All but `below_floor` need known stock and 14 days."""
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
        and 1000 * market.sold_last_24h_units * 1_000_000 >= 1500 * market.rate_micro
    )


def _restore(policy: ItemLocation, market: Market, step: int) -> Signal | None:
    if step < 0:
        return Signal(RESTORE, step + 1, DOWN)
    cover = market.cover_centidays()
    if step > 0 and cover is not None and cover < policy.restore_days * 100:
        return Signal(RESTORE, step - 1, UP)
    return None

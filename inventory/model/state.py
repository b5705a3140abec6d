"""The state of one key (domain.md 1, 2.4, 3).

A fold builds a new state and never changes an old one. If a dictionary changes, the new state gets
a changed copy of it.
"""

from dataclasses import field, replace

from inventory.model.episode import IDLE, NO_PROPOSAL, Episode, PriceEpisode
from inventory.model.ids import InvKey, Position
from inventory.model.policy import ItemLocation
from inventory.model.price_timeline import PriceRow
from inventory.model.value import value

OPENING_KIND = "opening"


@value
class Count:
    """An approved count: on-hand was `units` at the end of the second that starts at `at_us`."""

    at_us: int
    id: int
    units: int
    kind: str


@value
class Stock:
    """The stock quantities of a key and the inputs of the count rule (domain.md 2.4).

    `counts` are the counts since the horizon (the start of the oldest retained day), in the order
    (at_us, id). `opening_units` is on-hand at the horizon, and `opening_count` the last count
    before it. `sum_movements_units` is the sum of all movements. `shrink_units` are the units that
    counts found missing: -Σ variances of the counts whose kind is not `opening`.
    """

    on_hand_units: int = 0
    unavailable_units: int = 0
    on_order_units: int = 0
    in_transit_units: int = 0
    sum_movements_units: int = 0
    shrink_units: int = 0
    opening_units: int = 0
    opening_count: Count | None = None
    counts: tuple[Count, ...] = ()

    @property
    def is_counted(self) -> bool:
        """Return True if the key has an approved count (`stock_known` of domain.md 2.4)."""
        return self.opening_count is not None or bool(self.counts)

    @property
    def last_count(self) -> Count | None:
        """Return C, the count that on-hand starts from (domain.md 2.4); None if never counted."""
        return self.counts[-1] if self.counts else self.opening_count

    @property
    def sum_variances_units(self) -> int:
        """Return the sum of the variances of all counts: on-hand - Σ movements (domain.md 2.4)."""
        return self.on_hand_units - self.sum_movements_units


@value
class WindowRow:
    """One ten-minute window of a key (domain.md 3.2).

    `moves` maps a second (µs since 1970 UTC) to its net on-hand movement. Seconds with a net of 0
    are left out. `had_line` stays True once a sale or return line changed the row.
    """

    start_us: int
    sold_units: int = 0
    returned_units: int = 0
    sale_lines: int = 0
    return_lines: int = 0
    revenue_minor: int = 0
    late_lines: int = 0
    window_revision: int = 0
    had_line: bool = False
    moves: dict[int, int] = field(default_factory=dict)


@value
class Demand:
    """The demand learned from complete days (domain.md 3.3). None means unknown.

    `begun` is True after the first day with a sale line, movement or count. Rates, deviation `mad`
    and `tsb_z_micro` are in micro-units a day. `tsb_p_micro` estimates the probability of a day
    with sales, in millionths, and `tsb_z_micro` the demand of such a day. Both are known only if
    the demand method was `tsb` at the last observation. `quiet_windows` counts the trading
    windows that were not out of stock, on the days since the last day with sales.
    """

    begun: bool = False
    rate_micro: int | None = None
    mad_micro: int | None = None
    tsb_p_micro: int | None = None
    tsb_z_micro: int | None = None
    observed_days: int = 0
    quiet_windows: int = 0
    rate_at_last_sale_micro: int | None = None


@value
class DayEnd:
    """Demand and on-hand at the end of a UTC day, and whether the key was counted by then."""

    demand: Demand
    on_hand_units: int
    is_counted: bool


def available_to_sell_units(on_hand_units: int, allocated_units: int) -> int:
    """Return on-hand minus allocated. Negative means oversold and is not clamped."""
    return on_hand_units - allocated_units


NO_STOCK = Stock()
NO_DEMAND = Demand()


@value
class KeyState:
    """The complete state of one key at one position (generation and offset of the log).

    The horizon is the start of the day three days before `stream_time_us`. Of the days before the
    horizon, the state has results instead of facts: `stock.opening_units`, `stock.opening_count`
    and `final_demand`. So `stock`, `windows` and `final_demand` must belong to the same horizon.
    `demand` also includes the complete days since the horizon.

    `days` caches stock and demand at the end of each complete day since the horizon. It follows
    from the other fields, so no changelog record contains `days` and comparisons ignore it. `days`
    is None in a state that was just restored.
    """

    inv_key: InvKey
    position: Position
    resent: int = 0
    clock_mode: str = "live"
    stream_time_us: int | None = None
    stock: Stock = field(default_factory=lambda: NO_STOCK)
    windows: dict[int, WindowRow] = field(default_factory=dict)
    final_demand: Demand = field(default_factory=lambda: NO_DEMAND)
    demand: Demand = field(default_factory=lambda: NO_DEMAND)
    timeline: tuple[PriceRow, ...] = ()
    policy: ItemLocation | None = None
    base_position_units: int = 0
    safety_stock_units: int = 0
    reorder_point_units: int | None = None
    order_up_to_units: int | None = None
    episode: Episode = field(default_factory=lambda: IDLE)
    price_episode: PriceEpisode = field(default_factory=lambda: NO_PROPOSAL)
    days: tuple[DayEnd, ...] | None = field(default=None, compare=False)

    @property
    def key(self) -> InvKey:
        """Return the key `LOCATION|SKU`. This is another name of `inv_key`, as in `Record`."""
        return self.inv_key

    @property
    def on_hand_units(self) -> int:
        """Return on-hand by the count rule (domain.md 2.4). It may be negative."""
        return self.stock.on_hand_units

    @property
    def unavailable_units(self) -> int:
        """Return the units at the location that are not for sale."""
        return self.stock.unavailable_units

    @property
    def on_order_units(self) -> int:
        """Return the units ordered and not yet received."""
        return self.stock.on_order_units

    @property
    def in_transit_units(self) -> int:
        """Return the inbound units that were shipped and not yet received."""
        return self.stock.in_transit_units

    @property
    def allocated_units(self) -> int:
        """Return the units promised to open customer orders."""
        return 0 if self.policy is None else self.policy.allocated_units

    @property
    def available_to_sell_units(self) -> int:
        """Return on-hand minus allocated units. A negative number means oversold."""
        return available_to_sell_units(self.stock.on_hand_units, self.allocated_units)

    @property
    def stock_known(self) -> bool:
        """Return True if the key has an approved count (domain.md 2.4)."""
        return self.stock.is_counted


def with_episodes(state: KeyState, episode: Episode, price_episode: PriceEpisode) -> KeyState:
    """Return a copy of the state with `episode` and `price_episode`."""
    # Positional arguments, because `replace` costs six times as much.
    return KeyState(
        state.inv_key,
        state.position,
        state.resent,
        state.clock_mode,
        state.stream_time_us,
        state.stock,
        state.windows,
        state.final_demand,
        state.demand,
        state.timeline,
        state.policy,
        state.base_position_units,
        state.safety_stock_units,
        state.reorder_point_units,
        state.order_up_to_units,
        episode,
        price_episode,
        state.days,
    )


def with_windows(state: KeyState, windows: dict[int, WindowRow]) -> KeyState:
    """Return the state with `windows` as its rows and without cached `days`.

    `analytics.live_state` calls this to join a key's level with its window rows. The two come from
    different changelogs.
    """
    return replace(state, windows=windows, days=None)

"""The demand rate (3.3, 11.6). Final days are computed once, retained days again at each record."""

from dataclasses import dataclass, replace
from typing import Any

from tests.oracle.arithmetic import DAY, W, clamp, day, half_even
from tests.oracle.prices import Timeline, step_at
from tests.oracle.sales import RETURN_LINES, SALE_LINES, SOLD, Windows
from tests.oracle.stock import Ledger, Sums

MILLION = 1_000_000


@dataclass(frozen=True)
class Demand:
    """Demand that the model has learnt from the complete days of a key."""

    begun: bool = False
    rate: int | None = None
    mad: int | None = None
    p: int | None = None
    z: int | None = None
    quiet_windows: int = 0
    rate_at_last_sale: int | None = None
    observed_days: int = 0


@dataclass
class Known:
    """Inputs for a day's evaluation: facts, policy and prices known before or after a record."""

    ledger: Ledger
    windows: Windows
    policy: dict[str, Any]
    timeline: Timeline


def has_facts(known: Known, d: int) -> bool:
    """Return True if day `d` has a sale line in force, a net movement or an approved count."""
    if any(day(count.at) == d for count in known.ledger.counts):
        return True
    for start, row in known.windows.items():
        if day(start) == d and (row[SALE_LINES] > 0 or row[RETURN_LINES] > 0):
            return True
    net: dict[int, int] = {}
    for movement in known.ledger.movements:
        if day(movement.at) == d:
            net[movement.at] = net.get(movement.at, 0) + movement.units
    return any(net.values())


def fact_days(known: Known) -> list[int]:
    """Return the days with facts, in order. A key's demand begins on a day with facts."""
    days = {day(c.at) for c in known.ledger.counts}
    days |= {day(start) for start in known.windows}
    days |= {day(m.at) for m in known.ledger.movements}
    return sorted(d for d in days if has_facts(known, d))


def begin(known: Known) -> Demand:
    """Return the demand before any observation: the policy's initial rate, if it has one."""
    initial = known.policy["initial_rate_micro"]
    if initial is None:
        return Demand(begun=True)
    return Demand(begun=True, rate=clamp(initial), mad=clamp(half_even(initial, 2)))


def out_windows(known: Known, sums: Sums, d: int) -> int:
    """Return how many trading windows of day `d` began with on-hand ≤ 0 and sold no unit."""
    n, first = known.policy["trading_windows"], known.policy["trading_from_window"]
    if d not in sums.days:
        # A day without any fact begins all its windows with the same stock.
        on_hand = sums.on_hand_before(d * DAY)
        return n if on_hand is not None and on_hand <= 0 else 0
    out = 0
    for k in range(144):
        start = d * DAY + k * W
        sold = known.windows[start][SOLD] if start in known.windows else 0
        if (k - first) % 144 < n and sold <= 0:
            on_hand = sums.on_hand_before(start)
            out += int(on_hand is not None and on_hand <= 0)
    return out


def complete_day(demand: Demand, known: Known, sums: Sums, d: int) -> Demand:
    """Return the demand after one more complete day."""
    n = known.policy["trading_windows"]
    out = out_windows(known, sums, d)
    sold = sum(max(0, row[SOLD]) for start, row in known.windows.items() if day(start) == d)
    if 4 * (n - out) >= n and step_at(known.timeline, d * DAY) == 0:
        obs = half_even(sold * MILLION * n, n - out)
        demand = observe(demand, obs, known.policy)
        demand = replace(demand, observed_days=demand.observed_days + 1)
    if sold > 0:
        return replace(demand, quiet_windows=0, rate_at_last_sale=demand.rate)
    return replace(demand, quiet_windows=demand.quiet_windows + n - out)


def observe(demand: Demand, obs: int, policy: dict[str, Any]) -> Demand:
    """Return the demand with its rate and deviation after the observation `obs`."""
    alpha, tsb = policy["demand_alpha_permille"], policy["demand_method"] == "tsb"
    rate, mad = demand.rate, demand.mad
    if rate is None or mad is None:
        p, z = (0 if obs == 0 else MILLION), clamp(obs)
        start = clamp(half_even(p * z, MILLION)) if tsb else clamp(obs)
        return replace(
            demand,
            rate=start,
            mad=clamp(half_even(obs, 2)),
            p=p if tsb else None,
            z=z if tsb else None,
        )
    mad = clamp(mad + half_even((abs(obs - rate) - mad) * alpha, 1000))
    if not tsb:
        rate = clamp(rate + half_even((obs - rate) * alpha, 1000))
        return replace(demand, rate=rate, mad=mad, p=None, z=None)
    p, z = (MILLION, rate) if demand.p is None or demand.z is None else (demand.p, demand.z)
    p = p + half_even(((MILLION if obs > 0 else 0) - p) * alpha, 1000)
    if obs > 0:
        z = clamp(z + half_even((obs - z) * alpha, 1000))
    return replace(demand, rate=clamp(half_even(p * z, MILLION)), mad=mad, p=p, z=z)


def fold_final_days(final: Demand, known: Known, first: int | None, end: int) -> Demand:
    """Return the demand after the days [first, end), which pass the horizon.

    With `first` None, begin at the day of the first fact.
    """
    if first is not None and first >= end:
        return final
    if not final.begun:
        days = [d for d in fact_days(known) if d < end and (first is None or d >= first)]
        if not days:
            return final
        final, first = begin(known), days[0] + 1
    elif first is None:
        message = "a record that has begun knows its first retained day"
        raise AssertionError(message)
    sums = Sums(known.ledger)
    for d in range(first, end):
        final = complete_day(final, known, sums, d)
    return final


def now(final: Demand, known: Known, stream: int | None, first: int) -> Demand:
    """Return the demand as of now: final days plus every complete retained day."""
    if stream is None:
        return final
    demand = final
    if not demand.begun:
        days = [d for d in fact_days(known) if d >= first]
        if not days:
            return demand
        demand, first = begin(known), days[0] + 1
    d = first
    if (d + 1) * DAY + W > stream:
        return demand
    sums = Sums(known.ledger)
    while (d + 1) * DAY + W <= stream:
        demand = complete_day(demand, known, sums, d)
        d += 1
    return demand

"""Lines that explain the demand rate by the days that it was learned from (domain.md 3.3)."""

from collections.abc import Iterator

from inventory.explain.lines import Line, Section, add, note, total
from inventory.fold.demand import Rules, day_totals, last_day_end, observed_micro, rules_of
from inventory.model.arithmetic import DAY_US
from inventory.model.price_timeline import step_at
from inventory.model.state import Demand, KeyState
from inventory.model.windows import complete_before_us, horizon_us
from inventory.replenishment.levels import demand_micro


def demand_section(state: KeyState, *, has_windows: bool) -> Section:
    """Return the section `demand`: rate of final days + changes by later days = learned rate.

    Final days are the days before the horizon (three days before the stream time's day). Rates are
    in micro-units a day. If `has_windows` is True, each later complete day has lines of its own,
    computed from the state's window rows. If it is False, one line has the sum of these changes.
    """
    rules = rules_of(state.policy, state.timeline)
    demand, final = state.demand, state.final_demand
    if has_windows and state.stream_time_us is not None:
        days = tuple(_days(state, rules, state.stream_time_us))
    else:
        change = (demand.rate_micro or 0) - (final.rate_micro or 0)
        days = (add("retained_days_micro", change, "days that can still change"),)
    return Section(
        "demand",
        (
            note("demand_method", "tsb" if rules.is_tsb else "ewma"),
            note("demand_alpha_permille", rules.alpha_permille),
            note("trading_windows", rules.trading_windows),
            add("final_rate_micro", final.rate_micro or 0, _unknown(final)),
            *days,
            total("learned_rate_micro", demand.rate_micro or 0, _unknown(demand)),
            note("demand_rate_micro", demand_micro(state.policy, demand.rate_micro)),
            note("demand_mad_micro", demand.mad_micro),
            note("observed_days", demand.observed_days),
            note("quiet_windows", demand.quiet_windows),
            note("rate_at_last_sale_micro", demand.rate_at_last_sale_micro),
        ),
    )


def _unknown(demand: Demand) -> str:
    return "no day was observed yet" if demand.rate_micro is None else ""


def _days(state: KeyState, rules: Rules, stream_time_us: int) -> Iterator[Line]:
    first_us = horizon_us(stream_time_us) or 0
    before = state.final_demand
    for day_us in range(first_us, complete_before_us(stream_time_us), DAY_US):
        yield from _shown(state, rules, (first_us, day_us))
        span = (first_us, day_us + DAY_US)
        after = last_day_end(state.final_demand, state.stock, state.windows, span, rules).demand
        is_initial = after.begun and not before.begun and after.rate_micro is not None
        change = (after.rate_micro or 0) - (before.rate_micro or 0)
        yield add("rate_change_micro", change, "the initial rate" if is_initial else "")
        before = after


def _shown(state: KeyState, rules: Rules, span: tuple[int, int]) -> tuple[Line, ...]:
    """Return the lines of one day, which starts at `span[1]`.

    `span` is [horizon, start of that day) in µs since 1970 UTC.
    """
    day_us = span[1]
    day_end = last_day_end(state.final_demand, state.stock, state.windows, span, rules)
    starts = sorted(start for start in state.windows if day_us <= start < day_us + DAY_US)
    rows = [state.windows[start] for start in starts]
    counts = [count for count in state.stock.counts if day_us <= count.at_us < day_us + DAY_US]
    sold, out, _ = day_totals(day_end, day_us, rows, counts, rules)
    step = step_at(rules.timeline, day_us)
    observed = observed_micro(sold, rules.trading_windows - out, step, rules)
    why = ""
    if not day_end.demand.begun:
        observed, why = None, "no earlier day has a sale, movement or count"
    elif observed is None:
        why = "another price than the regular one was in force" if step else "out of stock too long"
    return (
        note("day_us", day_us),
        note("sold_units", sold),
        note("out_windows", out),
        note("observed_micro", observed, why),
    )

"""The report of a simulation as text: rows of tables, the line of assumptions, and notes."""

from collections.abc import Iterator
from typing import Any, Final

from analytics.simulation.assumptions import ESTIMATED, EVERY_DAY, HISTORY, LATEST
from analytics.simulation.report import COMPARED, Report
from analytics.simulation.scenarios import BASELINE
from analytics.simulation.scenarios import HISTORY as PAST
from inventory.explain.formatting import counted_text

COLUMNS: Final = (
    "scenario",
    "fill ‰",
    "lost units",
    "out of stock ‰",
    "out of stock h",
    "average stock",
    "orders",
    "order lines",
    "units ordered",
    "margin",
)
SHOWN_OFF_PERMILLE: Final = 10
WARNED_OFF_PERMILLE: Final = 500
_MONEY: Final = frozenset({"stock_minor", "margin_minor"})


def table(report: Report, dimension: str = "", value: str = "") -> list[list[str]]:
    """Return the rows of one table. Scenarios show the difference from the baseline, too."""
    return [_row(report.figures(name, dimension, value), name) for name in report.rows]


def _row(figures: dict[str, Any], name: str) -> list[str]:
    is_compared = name not in (PAST, BASELINE)
    return [name, *(_cell(figures, column, is_compared=is_compared) for column in COMPARED)]


def _cell(figures: dict[str, Any], column: str, *, is_compared: bool) -> str:
    shown = _shown(figures[column], column)
    difference = figures["less_baseline"][column]
    if not is_compared or not difference:
        return shown
    sign = "+" if difference > 0 else "-"
    return f"{shown} ({sign}{_shown(abs(difference), column)})"


def _shown(found: int | None, column: str) -> str:
    """Return a figure with separators; money has two decimals."""
    if found is None:
        return "–"
    if column not in _MONEY:
        return f"{found:,}"
    sign = "-" if found < 0 else ""
    whole, cents = divmod(abs(found), 100)
    return f"{sign}{whole:,}.{cents:02}"


def assumption_line(report: Report) -> str:
    """Return one line with the assumptions of the simulated world."""
    chosen = report.assumptions
    is_every_day = chosen.order_days_mask == EVERY_DAY
    days = "every day" if is_every_day else " ".join(chosen.as_json()["order_days"])
    is_past = chosen.lead_times == HISTORY
    past = "drawn from the supplier's past lead times, or from the policy if there are none"
    lead = past if is_past else "from the policy"
    parameters = (
        "the latest in the log"
        if chosen.parameters == LATEST
        else "those in force at each time of the log"
    )
    return "; ".join(
        (
            f"demand: {_demand(report)}",
            f"lead times: {lead}",
            f"orders: {chosen.approval_minutes} min after the need, {days}",
            f"parameters: {parameters}",
            f"seed {chosen.seed}",
        )
    )


def title(report: Report) -> str:
    """Return the title of the first table, with the simulated items and their period."""
    period = "" if report.period is None else f" from {report.period[0]} to {report.period[1]} UTC"
    keys = report.outcome(PAST).keys
    return (
        f"{counted_text(keys, 'item')} simulated{period}; history is what happened, (±) is the "
        "change to the baseline"
    )


def _changed_notes(report: Report) -> Iterator[str]:
    """Yield one line per scenario with the number of items whose parameters it changes."""
    keys = report.outcome(PAST).keys
    for scenario in report.scenarios:
        count = report.found.changed[scenario.name]
        if scenario.name == BASELINE:
            continue
        if count:
            items = counted_text(keys, "item")
            yield f"scenario {scenario.name} changes the parameters of {count:,} of {items}"
        else:
            yield (
                f"warning: scenario {scenario.name} changes no item's parameters, so it equals "
                "the baseline; check --where, and the values that the items have already"
            )


def _off_note(report: Report) -> str:
    """Return the line that states for how much of the time replenishment is off in the log."""
    is_warning = report.off_permille >= WARNED_OFF_PERMILLE
    return (
        f"{'warning: ' if is_warning else ''}the log's parameters have replenishment off for "
        f"{report.off_permille:,} ‰ of the simulated time, and all the time for "
        f"{counted_text(report.found.never_replenished, 'item')}. In that time no need opens, "
        "unless a scenario sets replenish_family. "
        "--parameters latest uses each item's latest parameters from the start"
    )


def _demand(report: Report) -> str:
    if report.assumptions.demand != ESTIMATED:
        return "recorded sales only, which is too low for times without stock"
    units = report.outcome(PAST).estimated_units
    return f"recorded sales and {counted_text(units, 'unit')} estimated for times without stock"


def notes(report: Report) -> Iterator[str]:
    """Yield lines about what the figures leave out, each with the next step if there is one."""
    found = report.found
    if found.left_out:
        counts = [f"{count:,} with {why}" for why, count in sorted(found.left_out.items())]
        yield f"left out: {', '.join(counts)}"
    yield from _changed_notes(report)
    is_off = found.never_replenished > 0 or report.off_permille >= SHOWN_OFF_PERMILLE
    if is_off and report.assumptions.parameters != LATEST:
        yield _off_note(report)
    for scenario, problem in sorted(found.problems.items()):
        count = report.outcome(scenario).refused_policies
        yield (
            f"{scenario}: {counted_text(count, 'item')} kept parameters of the log, because the "
            f"changed row breaks a limit: {problem}"
        )
    minutes = report.approval_minutes()
    if minutes is not None and minutes != report.assumptions.approval_minutes:
        yield (
            f"in history, half of the needs were ordered within {minutes:,} min; "
            f"--approval-minutes {minutes} simulates that"
        )

"""The worked tables of facts (domain.md 2.4, 3.2, 5.3), for product and reference model."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from inventory.model.arithmetic import ceil_div, half_even
from inventory.model.ids import InvKey
from tests.oracle import arithmetic as second
from tests.vectors import FOLDS, VECTORS, Fold, Product, Seen, Story, moment

Row = dict[str, Any]
MakeFold = Callable[[], Fold]

DIVISIONS: dict[str, tuple[Callable[[int, int], int], ...]] = {
    "half_even": (half_even, second.half_even),
    "ceil": (ceil_div, second.ceil),
    "floor": (lambda a, b: a // b, second.floor),
}


@pytest.mark.domain("0 divisions *")
@pytest.mark.parametrize(
    "vector", VECTORS["division"], ids=lambda v: f"{v['call']}{v['arguments']}"
)
def test_divisions_match_the_table_in_domain_md(vector: Row) -> None:
    for division in DIVISIONS[vector["call"]]:
        assert division(*vector["arguments"]) == vector["result"]


def played(fold: Fold, story: Story, rows: list[Row]) -> Iterator[tuple[Row, list[Seen]]]:
    """Yield each row of a table with the results of its facts."""
    for row in rows:
        yield row, [fold.apply(story.record(fact)) for fact in row["facts"]]


def shown(seen: list[Seen], column: str, values: list[Any]) -> list[Any]:
    """Return a column of the state after each of the last `len(values)` facts."""
    return [one.state[column] for one in seen][-len(values) :]


def as_variance(text: str) -> tuple[int, int]:
    clock, units = text.split(" ")
    return moment(clock), int(units.replace("−", "-"))


@pytest.mark.domain("2.4 count rule *")
@pytest.mark.parametrize("make", FOLDS)
def test_the_count_rule_follows_the_table(make: MakeFold) -> None:
    fold = make()
    for row, seen in played(fold, Story(), VECTORS["count_rule"]):
        name = row["row"]
        assert shown(seen, "on_hand", row["on_hand"]) == row["on_hand"], name
        assert shown(seen, "sum_movements", row["movements"]) == row["movements"], name
        totals = row.get("total_variances", [])
        assert shown(seen, "sum_variances", totals)[: len(totals)] == totals, name
        if "variances" in row:
            assert fold.variances("L|S") == [as_variance(text) for text in row["variances"]], name
        assert seen[-1].verdict.startswith(row.get("verdict", "applied")), name


@pytest.mark.domain("2.4 count rule 13", "2.4 count rule 16")
def test_days_beyond_the_horizon_are_folded_into_opening_values() -> None:
    fold = Product()
    for row, seen in played(fold, Story(), VECTORS["count_rule"]):
        stock = fold.partition.states[InvKey("L|S")].stock
        if "opening_units" in row:
            assert stock.opening_units == row["opening_units"]
            assert stock.opening_count is not None
            assert (stock.opening_count.at_us, stock.opening_count.id) == (
                moment(row["opening_count"]),
                5,
            )
        if "verdict" in row:
            assert seen[-1].verdict == "rejected:count_beyond_horizon"


@pytest.mark.domain(
    "2.4 effects *",
    "2.2 c",
    "2.2 d",
    "2.3 sale_line, q < 0",
    "2.3 purchase_order_line",
    "2.3 shipment_line supplier_in shipped",
    "2.3 supplier_in received",
    "2.3 transfer_in *",
)
@pytest.mark.parametrize("make", FOLDS)
def test_stock_on_order_and_in_transit_follow_the_effects_table(make: MakeFold) -> None:
    columns = ("on_hand", "unavailable", "on_order", "in_transit")
    for row, seen in played(make(), Story(), VECTORS["effects"]):
        assert all(one.verdict == "applied" for one in seen)
        for column in columns:
            assert shown(seen, column, row[column]) == row[column], (row["row"], column)
        assert shown(seen, "B", row["position"]) == row["position"], row["row"]


@pytest.mark.domain("3.2 windows *", "2.3 sale_line, q > 0", "3.2 window *")
@pytest.mark.parametrize("make", FOLDS)
def test_windows_follow_the_table(make: MakeFold) -> None:
    for row, seen in played(make(), Story(), VECTORS["windows"]):
        name = row["row"]
        assert shown(seen, "on_hand", row["on_hand"]) == row["on_hand"], name
        if "ten" in row:
            tens = [ten_of(one.state["windows"]) for one in seen]
            assert tens[-len(row["ten"]) :] == row["ten"], name
        for clock, expected in row.get("others", {}).items():
            sold, returned, _, _, revenue, *_ = seen[-1].state["windows"][str(moment(clock))]
            assert [sold, returned, revenue] == expected, name
        assert [late for one in seen for late in one.late] == row.get("late", []), name


def ten_of(windows: dict[str, list[int]]) -> str:
    """Return sold/sale lines/revenue/late/revision of the window of 10:00, or "expired"."""
    found = windows.get(str(moment("10:00")))
    if found is None:
        return "expired"
    sold, _, sale_lines, _, revenue, late, revision = found
    return f"{sold}/{sale_lines}/{revenue}/{late}/{revision}"


@pytest.mark.domain("5.3 episode *")
@pytest.mark.parametrize("make", FOLDS)
def test_the_episode_follows_the_table(make: MakeFold) -> None:
    story = Story(start="09:00", policy=VECTORS["episode_policy"])
    for row, seen in played(make(), story, VECTORS["episode"]):
        last = seen[-len(row["B"]) :]
        assert [one.state["B"] for one in last] == row["B"], row["row"]
        assert [state_text(one.state["episode"]) for one in last] == row["states"], row["row"]
        for one, expected in zip(last, row["outputs"], strict=True):
            found = one.outputs[0] if one.outputs else "–"
            assert found.endswith(expected), row["row"]


def state_text(episode: Row) -> str:
    quantity = episode["q"]
    return episode["state"] if quantity is None else f"{episode['state']}, q {quantity}"


@pytest.mark.domain("5.3 episode found *")
def test_a_decision_about_another_need_is_counted_as_stale() -> None:
    fold, story = Product(), Story(start="09:00", policy=VECTORS["episode_policy"])
    for row, _ in played(fold, story, VECTORS["episode"]):
        if "stale_decisions" in row:
            episode = fold.partition.states[InvKey("L|S")].episode
            assert episode.stale_decisions == row["stale_decisions"]

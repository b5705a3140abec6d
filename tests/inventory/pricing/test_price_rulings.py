"""Rulings on prices, on both sides of each boundary, by the fold and by the second model."""

from typing import Any

import pytest

from tests.oracle.both import FOLDS, folded, price
from tests.oracle.builders import History, at, count, policy

Row = dict[str, Any]


def observed(*prices: Row, **columns: Any) -> History:
    """Return 15 observed days of a key with 10 units and no sale. The last record is a review."""
    history = History()
    rules = {"price_mode": "advise", "regular_minor": 999, "overstock_days": 0, "lead_minutes": 0}
    history.put("stock_count", "c", at(1, days=-16), after=count(1, 10, at(1, days=-16)))
    for row in prices:
        history.put("price_change", "c", at(0, 1), after=row)
    history.put("item_location", "c", at(0, 10), after=policy(at(0, 10), **(rules | columns)))
    return history


def proposed(fold: Any, history: History) -> tuple[int, list[str], int | None] | None:
    """Return (price, clamps, prior price) of the last record's proposal."""
    outputs = folded(fold, history)[0][-1]["outputs"]
    return (outputs[0]["new"], outputs[0]["clamps"], outputs[0]["prior"]) if outputs else None


@FOLDS
@pytest.mark.domain("6.2 price P21*", "11.9 Right side")
@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"ladder_permille": [999]}, (0, None)),
        ({"ladder_permille": [998]}, (1, [])),
        ({"ladder_permille": [1000]}, (0, None)),
        ({"ladder_permille": [999], "regular_minor": 1000}, (1, [])),
        # t = 19: the largest price at or below it that ends in 00 is 0.
        ({"ladder_permille": [980], "endings": [0]}, (0, None)),
        ({"ladder_permille": [980], "endings": [49]}, (49, ["ending_up"])),
    ],
)
def test_no_price_below_one_minor_unit_is_proposed(
    fold: Any, columns: Row, expected: tuple[int, list[str] | None]
) -> None:
    history = observed(max_step_permille=1000, max_off_permille=1000, **columns)

    found = proposed(fold, history)

    minor, clamps = expected
    assert found == (None if clamps is None else (minor, clamps, None))


@FOLDS
@pytest.mark.domain("6.2 price P23*", "11.9 Below floor")
@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"cost_minor": 10**9}, 10**9),
        ({"cost_minor": 10**9, "tax_bp": 1}, None),
        ({"cost_minor": 700_000_000, "margin_permille": 300}, 10**9),
        ({"cost_minor": 700_000_001, "margin_permille": 300}, None),
        ({"cost_minor": 10**9 - 50, "endings": [0]}, 10**9),
        ({"cost_minor": 10**9 - 50, "endings": [49]}, None),
    ],
)
def test_no_price_above_the_maximum_price_is_proposed(
    fold: Any, columns: Row, expected: int | None
) -> None:
    found = proposed(fold, observed(**columns))

    assert found == (None if expected is None else (expected, ["floor"], None))


@FOLDS
@pytest.mark.domain("11.9 Reasons")
def test_an_open_proposal_out_of_range_is_cancelled_with_its_clamps(fold: Any) -> None:
    history = observed(cost_minor=1200)
    before = history.records[-1]["after"]
    after = {**before, "cost_minor": 10**9, "tax_bp": 1}
    history.put("item_location", "u", at(0, 20), before=before, after=after)
    records, states = folded(fold, history)

    opened, closed = records[-2]["outputs"][0], records[-1]["outputs"][0]
    assert (opened["new"], opened["status"]) == (1200, "open")
    assert (closed["status"], closed["reason"]) == ("cancelled", "floor")
    assert states["L|S"]["price"]["proposal_id"] is None


@FOLDS
@pytest.mark.domain("11.9 Passing row")
@pytest.mark.parametrize(
    ("passing_us", "prior"),
    [
        # 1150 was replaced at its own start and never in force, so the run of cuts starts at 1250.
        (0, 1250),
        # 1150 was in force for a microsecond and breaks the run. 1098 is the lowest price before.
        (-1, 1098),
    ],
)
def test_a_price_that_was_never_in_force_breaks_no_run_of_cuts(
    fold: Any, passing_us: int, prior: int
) -> None:
    rows = (
        price(1, 1250, at(0, days=-60), kind="initial"),
        price(2, 1098, at(0, days=-20)),
        price(3, 1150, at(0, days=-10) + passing_us),
        price(4, 1000, at(0, days=-10)),
    )
    rules = {"prior_rule": "progressive", "cooldown_hours": 0, "max_step_permille": 1000}
    history = observed(*rows, regular_minor=1250, ladder_permille=[300], **rules)

    assert proposed(fold, history) == (875, [], prior)


@FOLDS
@pytest.mark.domain("6.2 price P17*", "11.9 Passing row")
def test_a_price_that_was_never_in_force_is_no_prior_price(fold: Any) -> None:
    rows = [price(row_id, minor, at(0, days=-40)) for row_id, minor in enumerate((700, 999), 1)]

    assert proposed(fold, observed(*rows, cooldown_hours=0)) == (899, [], 999)

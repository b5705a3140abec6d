"""The worked tables of levels, quantities and prices (domain.md 5.1, 5.2, 6.2).

Product and reference model (tests/oracle) compute each number.
"""

from typing import Any

import pytest

from inventory.model.arithmetic import DAY_US
from inventory.model.episode import NO_PROPOSAL
from inventory.model.price_timeline import PriceRow, prior_price
from inventory.pricing.proposals import PricingTrigger, floor_minor, next_proposal
from inventory.pricing.signals import effective_at_us
from inventory.replenishment.levels import levels
from inventory.replenishment.lot_size import economic_order_units
from inventory.replenishment.needs import base_position_units
from inventory.replenishment.quantity import order_quantity
from tests.inventory.decision_inputs import KEY, NOW_US, at, mad_for_sigma, market, policy
from tests.oracle.columns import POLICY
from tests.oracle.levels import levels_of, quantity_of
from tests.oracle.prices import Price
from tests.oracle.prices import prior_price as second_prior
from tests.oracle.pricing import Inputs, candidate_of, floor_price, start_of
from tests.vectors import VECTORS, moment

DEFAULTS = {name: column.default for name, column in POLICY.items()}
FEBRUARY_US = 20_485 * DAY_US  # 2026-02-01
Row = dict[str, Any]


def vectors(name: str) -> pytest.MarkDecorator:
    rows = VECTORS[name]
    return pytest.mark.parametrize("vector", rows, ids=[row["id"] for row in rows])


@pytest.mark.domain(
    "5.1 levels *", "5.1 family *", "1 review R, cycle C, protection P", "1 lead time L*"
)
@vectors("levels")
def test_levels_match_the_table_in_domain_md(vector: Row) -> None:
    service = {"safety_method": "service"} if "service" in vector else {}
    z_micro = VECTORS["service_z_micro"][vector.get("service", "95")]
    columns = {"levels": "computed", "replenish_family": vector["family"]} | service
    columns |= {"service_z_micro": z_micro} | vector["columns"]
    d_micro, mad = vector["d_micro"], mad_for_sigma(vector["sigma_micro"])
    expected = (vector.get("SS", 0), vector["s"], vector.get("S"))

    found = levels(policy(**columns), d_micro, mad)
    second = levels_of({**DEFAULTS, **columns}, d_micro, mad)

    shown = (found.safety_stock_units, found.reorder_point_units, found.order_up_to_units)
    assert shown == expected
    assert second is not None
    assert (second.safety, second.s, second.upto) == expected


def test_the_economic_order_quantity_matches_its_example() -> None:
    given = dict(VECTORS["eoq"])
    found = given.pop("order_quantity_units")

    assert economic_order_units(**given) == found
    square = 2 * given["demand_a_year_units"] * given["order_cost_minor"]
    assert (found - 1) ** 2 * given["holding_minor"] < square <= found**2 * given["holding_minor"]
    assert economic_order_units(**given | {"demand_a_year_units": 0}) == 1


def quantity_columns(vector: Row) -> Row:
    family = vector.get("family", "sS")
    target = "order_quantity_units" if family == "sQ" else "order_up_to_units"
    return {
        "replenish_family": family,
        "reorder_point_units": vector["s"],
        target: vector["target"],
        **vector["columns"],
    }


@pytest.mark.domain("5.2 quantity *")
@vectors("quantity")
def test_order_quantities_match_the_table_in_domain_md(vector: Row) -> None:
    columns, base = quantity_columns(vector), vector["B"]
    d_micro = vector.get("d_micro", 10**9)
    ranged, row = policy(**columns), {**DEFAULTS, **columns}
    level, second_level = levels(ranged, d_micro, 0), levels_of(row, d_micro, 0)
    assert second_level is not None
    assert level.reorder_point_units == vector["s"] or vector["family"] == "par"

    found = order_quantity(ranged, level, base, d_micro)
    second = quantity_of(row, second_level, base, d_micro)

    assert dict(found.terms)["need_units"] == second.need == vector["n"]
    assert found.units == second.q == vector.get("q")
    assert found.reason == (None if "q" in vector else "limit_below_minimum")
    assert list(found.flags) == list(second.flags) == vector.get("flags", [])
    if "cover_days" in vector:
        assert (base + vector["q"]) * 10**6 == d_micro * vector["cover_days"]


@pytest.mark.domain("5.2 quantity Q1 *", "5.2 quantity Q3*")
@vectors("quantity")
def test_base_positions_of_the_quantity_table_match_their_stock(vector: Row) -> None:
    if "on_hand" in vector:
        stock = (vector["on_hand"], vector.get("on_order", 0), vector.get("allocated", 0))
        assert base_position_units(*stock) == vector["B"]


# Demand, on-hand and sales for which each signal is the first that applies.
MARKETS: dict[str, Row] = {
    "overstock": {"rate_micro": 1_000_000, "on_hand_units": 1000},
    "below_floor": {"rate_micro": 1_000_000, "on_hand_units": 1000},
    "restore": {"rate_micro": 10_000_000, "on_hand_units": 200},
    "scarce": {"rate_micro": 10_000_000, "on_hand_units": 20, "sold_last_24h_units": 15},
}


def price_columns(vector: Row) -> Row:
    shared = {name: found for name, found in VECTORS["price_policy"].items() if name in POLICY}
    mode = {"price_mode": "advise", "status": "active", "replenish_family": "off"}
    own: Row = vector.get("columns", {})
    return mode | shared | {"scarce_enabled": True} | own


@pytest.mark.domain("6.2 price P[1-9];*", "6.2 price P1[13]*", "6.2 price P2[13];*")
@vectors("price")
def test_proposed_prices_match_the_table_in_domain_md(vector: Row) -> None:
    columns, given = price_columns(vector), MARKETS[vector["signal"]]
    expected = (vector["signal"], vector.get("price"), tuple(vector.get("clamps", ())))
    lists = {name: tuple(found) for name, found in columns.items() if isinstance(found, list)}
    state = market(policy(**(columns | lists)), old=vector["old"], step=vector["k"], **given)

    episode, output = next_proposal(KEY, at(7), NO_PROPOSAL, state, PricingTrigger(evaluate=True))
    second = candidate_of(second_inputs({**DEFAULTS, **columns}, vector, given))

    if output is None or isinstance(second, str):
        assert episode.reason == second == vector["reason"]
    else:
        assert (output.signal, output.new_minor, output.clamps) == expected
        assert (second.signal, second.new, second.clamps) == expected


def second_inputs(row: Row, vector: Row, given: Row) -> Inputs:
    return Inputs(
        policy=row,
        timeline=[Price(NOW_US - 200 * DAY_US, 1, vector["old"], vector["k"], "manual")],
        on_hand=given["on_hand_units"],
        in_transit=0,
        allocated=0,
        stock_known=True,
        observed_days=14,
        quiet_windows=0,
        d=given["rate_micro"],
        sold_last_24h=given.get("sold_last_24h_units", 0),
        stream=NOW_US,
    )


@pytest.mark.domain("6.2 price P1[45]*")
@pytest.mark.parametrize(
    "vector",
    [
        *VECTORS["floor"],
        VECTORS["price_policy"],
        *[v for v in VECTORS["price"] if "floor_minor" in v],
    ],
)
def test_price_floors_match_the_table_in_domain_md(vector: Row) -> None:
    columns = {**DEFAULTS, **VECTORS["price_policy"], **vector, **vector.get("columns", {})}
    terms = (columns["cost_minor"], columns["margin_permille"], columns["tax_bp"])
    assert floor_minor(*terms) == floor_price(columns) == vector["floor_minor"]


@pytest.mark.domain("6.2 price P16")
@vectors("effective_at")
def test_a_proposed_price_takes_effect_at_a_window_start(vector: Row) -> None:
    lead, expected = vector["lead_minutes"], moment(vector["effective_at"])
    for now in vector["now"]:
        assert effective_at_us(moment(now), lead) == expected
        row = {**DEFAULTS, **price_columns({}), "lead_minutes": lead}
        inputs = second_inputs(row, {"old": 999, "k": 0}, MARKETS["overstock"])
        assert (
            start_of(inputs.__class__(**{**vars(inputs), "stream": moment(now)})).effective_at
            == expected
        )


@pytest.mark.domain("6.2 price P17*")
@vectors("prior")
def test_the_prior_price_is_the_lowest_of_thirty_days(vector: Row) -> None:
    rows = [
        (moment(row["from"], first_day_us=FEBRUARY_US), place, row["price"], 0, "manual")
        for place, row in enumerate(VECTORS["prior_rows"]["rows"], 1)
    ]
    cut_at = moment(vector["cut_at"], first_day_us=FEBRUARY_US)

    timeline = tuple(PriceRow(*row) for row in rows)
    assert prior_price(timeline, cut_at, progressive=False) == vector["price"]
    assert second_prior([Price(*row) for row in rows], cut_at, "plain") == vector["price"]


@pytest.mark.domain("6.2 price P19*")
@vectors("cover")
def test_cover_decides_between_overstock_and_scarce(vector: Row) -> None:
    for case in vector["cases"]:
        given = {
            "rate_micro": vector["d_micro"],
            "on_hand_units": case["supply"],
            "sold_last_24h_units": case.get("sold_last_24h", 0),
        }
        columns = price_columns({"columns": {"raise_permille": [50, 100]}})
        lists = {name: tuple(found) for name, found in columns.items() if isinstance(found, list)}
        state = market(policy(**(columns | lists)), old=999, step=0, **given)
        _, output = next_proposal(KEY, at(7), NO_PROPOSAL, state, PricingTrigger(evaluate=True))
        second = candidate_of(second_inputs({**DEFAULTS, **columns}, {"old": 999, "k": 0}, given))
        wanted = case.get("signal")
        assert (None if output is None else output.signal) == wanted
        assert (None if isinstance(second, str) else second.signal) == wanted
        assert case["supply"] * 10**8 // vector["d_micro"] == case["cover_centidays"]

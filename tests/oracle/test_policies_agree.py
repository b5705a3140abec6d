"""Levels, quantities, prices and timelines, function by function, on numbers from small ranges.

Histories rarely bring cover, gates or price rows exactly to their edges. Most draws here do.
"""

from random import Random
from typing import Any

from inventory.model.episode import NO_PROPOSAL
from inventory.model.ids import InvKey, Position
from inventory.model.price_timeline import PriceRow, prior_price, prune
from inventory.pricing.proposals import PricingInputs, PricingTrigger, next_proposal
from inventory.replenishment.levels import levels
from inventory.replenishment.quantity import order_quantity
from inventory.tables.item_location import parse as item_location
from tests.inventory.decision_inputs import sold_recently
from tests.oracle import prices
from tests.oracle.arithmetic import DAY, HOUR, MINUTE, W
from tests.oracle.columns import Limit, Row
from tests.oracle.generate_rows import price_columns, quantity_columns, replenishment_columns
from tests.oracle.levels import levels_of, quantity_of
from tests.oracle.limits import checked
from tests.oracle.pricing import Inputs, candidate_of, is_off, start_of

KEY = InvKey("L|S")
ROUNDS = 6000
NOW = 20_000 * DAY


def random_rows(rng: Random) -> list[prices.Price]:
    """Return up to six price rows at times that often coincide with an edge or with each other."""
    days = (-200, -62, -61, -60, -32, -31, -30, -29, -7, -2, -1, 0, 0, 1, 2)
    rows = []
    for number in range(rng.randint(0, 6)):
        at = NOW + rng.choice(days) * DAY + rng.choice((0, 0, W, -1, 1, 30 * MINUTE, 3 * W))
        price = rng.choice((999, 999, 949, 899, 849, 799, 1049, 1098, rng.randint(300, 1400)))
        kind = rng.choice(("initial", "rule", "manual", "rollback"))
        rows.append(prices.Price(at, number, price, rng.choice((0, 0, 0, 1, 2, -1)), kind))
    return sorted(rows)


def of_product(rows: list[prices.Price]) -> tuple[PriceRow, ...]:
    return tuple(PriceRow(row.at, row.id, row.price, row.step, row.kind) for row in rows)


def random_policy(rng: Random) -> tuple[Row, Any] | None:
    """Return the same policy as (row of the model, policy of the product), or None if invalid."""
    raw = {"id": 1, "status": "active", "recorded_at": NOW}
    raw |= replenishment_columns(rng) | quantity_columns(rng) | price_columns(rng, NOW)
    gate = NOW + rng.choice((-1, 0, 1, 2, 3, 4)) * W
    raw |= {"price_mode": "advise", "regular_minor": rng.choice((999, 999, 700))}
    raw |= {"lead_minutes": rng.choice((0, 10, 30)), "cooldown_hours": rng.choice((0, 1, 24, 168))}
    raw |= {rng.choice(("no_touch_from", "no_touch_until", "reviewed_at")): gate}
    try:
        return checked("item_location", raw), item_location(KEY, raw)
    except Limit:
        return None


def test_product_and_model_prune_and_search_price_timelines_alike() -> None:
    rng = Random(1)  # noqa: S311 -- repeatable test data, no secret
    for _ in range(ROUNDS):
        rows = random_rows(rng)
        at = NOW + rng.choice((0, W, 30 * MINUTE, DAY, 30 * DAY, 31 * DAY, -1))
        for rule in ("plain", "progressive"):
            expected = prices.prior_price(rows, at, rule)
            found = prior_price(of_product(rows), at, progressive=rule == "progressive")
            assert found == expected, (rows, at, rule)
        assert prune(of_product(rows), at) == of_product(prices.prune(rows, at)), (rows, at)


def random_inputs(rng: Random, policy: Row) -> Inputs:
    d = rng.choice((0, 1, 500_000, 2_000_000, 5_000_000, 3_333_333))
    name = rng.choice(("scarce_days", "overstock_days", "restore_days"))
    near = -(-d * policy[name] // 10**6) + rng.choice((-1, 0, 0, 1, 30))
    return Inputs(
        policy=policy,
        timeline=random_rows(rng),
        on_hand=near + rng.choice((0, 0, 3)),
        in_transit=rng.choice((0, 0, -3, 5)),
        allocated=rng.choice((0, 0, 3)),
        stock_known=rng.random() < 0.95,
        observed_days=rng.choice((13, 14, 14, 14, 14, 30)),
        quiet_windows=rng.choice((0, policy["idle_days"] * policy["trading_windows"], 10)),
        d=d,
        sold_last_24h=3 * d // 2_000_000 + rng.choice((-1, 0, 1)),
        stream=NOW + rng.choice((0, 0, 1, -1, W, HOUR)),
    )


def test_product_and_model_propose_the_same_price() -> None:
    rng, proposed = Random(2), 0  # noqa: S311 -- repeatable test data, no secret
    for _ in range(3 * ROUNDS):
        both = random_policy(rng)
        if both is None or is_off(both[0]):
            continue
        inputs = random_inputs(rng, both[0])
        expected = candidate_of(inputs)
        product = PricingInputs(
            policy=both[1],
            timeline=of_product(inputs.timeline),
            on_hand_units=inputs.on_hand,
            in_transit_units=inputs.in_transit,
            allocated_units=inputs.allocated,
            stock_known=inputs.stock_known,
            observed_days=inputs.observed_days,
            quiet_windows=inputs.quiet_windows,
            rate_micro=inputs.d,
            recent_sales=sold_recently(inputs.sold_last_24h),
            stream_time_us=inputs.stream,
        )
        trigger = PricingTrigger(evaluate=True)
        _, output = next_proposal(KEY, Position(1, 9), NO_PROPOSAL, product, trigger)
        assert (output is None) == isinstance(expected, str), (inputs, expected, output)
        if output is not None and not isinstance(expected, str):
            proposed += 1
            found = (output.new_minor, output.old_minor, output.step, output.signal)
            assert found == (expected.new, expected.old, expected.step, expected.signal), inputs
            rest = (tuple(output.clamps), output.effective_at_us, output.prior_minor)
            assert rest == (expected.clamps, expected.effective_at, expected.prior), inputs
            assert expected.effective_at == start_of(inputs).effective_at
    assert proposed > ROUNDS // 10


def test_product_and_model_compute_the_same_levels_and_quantities() -> None:
    rng, ordered = Random(3), 0  # noqa: S311 -- repeatable test data, no secret
    for _ in range(2 * ROUNDS):
        both = random_policy(rng)
        if both is None:
            continue
        row, policy = both
        d, mad = rng.choice((0, 1, 300_000, 2_000_000, 3_333_333)), rng.randrange(3_000_000)
        expected, found = levels_of(row, d, mad), levels(policy, d, mad)
        assert expected is not None
        shown = (found.safety_stock_units, found.reorder_point_units, found.order_up_to_units)
        assert shown == (expected.safety, expected.s, expected.upto), row
        b = expected.s - rng.choice((0, 0, 1, 7, 30))
        quantity, wanted = order_quantity(policy, found, b, d), quantity_of(row, expected, b, d)
        assert (quantity.units, sorted(quantity.flags)) == (wanted.q, sorted(wanted.flags)), row
        ordered += wanted.q is not None
    assert ordered > ROUNDS // 10

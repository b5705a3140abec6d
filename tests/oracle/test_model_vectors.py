"""The tables of the rules, against the reference model: only a right oracle may judge."""

from typing import Any

from tests.oracle.arithmetic import ceil, floor, half_even
from tests.oracle.builders import (
    KEY,
    History,
    adjustment,
    at,
    count,
    decision,
    order,
    policy,
    sale,
    shipment,
)
from tests.oracle.columns import POLICY
from tests.oracle.demand import Demand, observe
from tests.oracle.partition import Model, state_of
from tests.oracle.stock import Sums

MICRO = 1_000_000
DEFAULTS = {name: column.default for name, column in POLICY.items()}


class Run:
    """A history that is folded while it is written."""

    def __init__(self, start: int = 0) -> None:
        self.history, self.model = History(start=start), Model()

    def put(self, table: str, op: str, commit: int, **images: Any) -> dict[str, Any]:
        return self.model.apply(self.history.put(table, op, commit, **images))

    @property
    def state(self) -> dict[str, Any]:
        return state_of(self.model.keys[KEY])

    @property
    def variances(self) -> list[tuple[int, int]]:
        return [(c.id, v) for c, v in self.model.keys[KEY].ledger.variances()]

    def numbers(self) -> tuple[int, int]:
        return self.state["on_hand"], self.state["sum_movements"]


def test_the_three_divisions_round_as_named() -> None:
    assert [half_even(a, 2) for a in (5, 7, -5, -7)] == [2, 4, -2, -4]
    assert (floor(-7, 2), ceil(-7, 2)) == (-4, -3)


def test_the_count_table() -> None:  # noqa: PLR0915 -- one row of the table after the other
    run, now = Run(), at(11)
    opening = count(1, 10, at(8), kind="opening")
    run.put("stock_count", "c", now, after=opening)
    assert run.numbers() == (10, 0)
    run.put("sale_line", "c", now, after=sale(1, 2, at(9)))
    receipt = shipment(1, "supplier_in", "received", at(9, 30), received_units=12)
    run.put("shipment_line", "c", now, after=receipt)
    assert run.numbers() == (20, 10)
    row_4 = sale(4, 1, at(10, 2))
    run.put("sale_line", "c", now, after=row_4)
    assert run.numbers() == (19, 9)
    of_ten = count(2, 18, at(10))
    run.put("stock_count", "c", now, after=of_ten)
    assert (*run.numbers(), run.variances) == (17, 9, [(1, 10), (2, -2)])
    row_6 = sale(6, 3, at(9, 50))
    run.put("sale_line", "c", now, after=row_6)
    assert (*run.numbers(), run.variances[-1]) == (17, 6, (2, 1))
    run.put("sale_line", "c", now, after=sale(7, 1, at(10)))
    assert (*run.numbers(), run.variances[-1]) == (17, 5, (2, 2))
    run.put("stock_count", "c", now, after=count(3, 15, at(9, 40)))
    assert (*run.numbers(), run.variances[1:]) == (17, 5, [(3, -5), (2, 7)])
    run.put("stock_count", "u", now, before=of_ten, after={**of_ten, "status": "void"})
    assert run.numbers() == (10, 5)
    run.put("sale_line", "u", now, before=row_4, after={**row_4, "quantity_units": 2})
    assert (*run.numbers(), run.variances) == (9, 4, [(1, 10), (3, -5)])
    run.put("stock_count", "c", now, after=count(4, 8, at(10, 30)))
    run.put("stock_count", "c", now, after=count(5, 9, at(10, 30)))
    assert (*run.numbers(), run.variances[2:]) == (9, 4, [(4, -1), (5, 1)])
    run.put("sale_line", "d", now, before=row_6)
    assert (*run.numbers(), run.variances[2:]) == (9, 7, [(4, -4), (5, 1)])
    later = at(11, days=5)
    run.put("sale_line", "c", later, after=sale(13, 1, later))
    assert (*run.numbers(), run.state["sum_variances"]) == (8, 6, 2)
    run.put("sale_line", "c", later, after=sale(14, 2, at(10, 15)))
    assert (*run.numbers(), run.state["sum_variances"]) == (8, 4, 4)
    run.put("sale_line", "c", later, after=sale(15, 2, at(11)))
    assert (*run.numbers(), run.state["sum_variances"]) == (6, 2, 4)
    line = run.put("stock_count", "c", later, after=count(16, 4, at(12)))
    assert line["verdict"] == "rejected:count_beyond_horizon"
    assert run.numbers() == (6, 2)


BUCKETS = ("on_hand", "unavailable", "on_order", "in_transit", "B")


def test_the_table_of_buckets() -> None:
    run, now = Run(), at(12)

    def change(table: str, before: Any, after: Any, expected: tuple[int, ...]) -> None:
        op = "c" if before is None else "d" if after is None else "u"
        run.put(table, op, now, before=before, after=after)
        assert tuple(run.state[name] for name in BUCKETS) == expected

    run.put("item_location", "c", now, after=policy(now, allocated_units=2))
    change("stock_count", None, count(1, 5, at(8)), (5, 0, 0, 0, 3))
    line = order(1, 24, now)
    change("purchase_order_line", None, line, (5, 0, 24, 0, 27))
    confirmed = {**line, "confirmed_units": 20}
    change("purchase_order_line", line, confirmed, (5, 0, 20, 0, 23))
    shipped = shipment(1, "supplier_in", "shipped", at(9), shipped_units=20)
    change("shipment_line", None, shipped, (5, 0, 20, 20, 23))
    got = {"received_units": 18, "damaged_units": 1, "order_units": 19, "shipped_units": 20}
    received = shipment(1, "supplier_in", "received", at(10), **got)
    change("shipment_line", shipped, received, (23, 1, 1, 0, 22))
    cancelled = {**confirmed, "cancelled_units": 1}
    change("purchase_order_line", confirmed, cancelled, (23, 1, 0, 0, 21))
    rows = [
        shipment(2, "transfer_in", "planned", at(10), planned_units=6),
        shipment(2, "transfer_in", "shipped", at(10), planned_units=6, shipped_units=6),
        shipment(2, "transfer_in", "received", at(11), shipped_units=6, received_units=5),
    ]
    change("shipment_line", None, rows[0], (23, 1, 6, 0, 27))
    change("shipment_line", rows[0], rows[1], (23, 1, 6, 6, 27))
    change("shipment_line", rows[1], rows[2], (28, 1, 0, 0, 26))
    for number, condition, expected in (
        (3, "resaleable", (29, 1, 0, 0, 27)),
        (4, "damaged", (29, 2, 0, 0, 27)),
        (5, "discarded", (29, 2, 0, 0, 27)),
    ):
        change("sale_line", None, sale(number, -1, at(11), condition=condition), expected)
    change("stock_adjustment", None, adjustment(1, "damage", 2, at(11)), (27, 4, 0, 0, 25))
    change("stock_adjustment", None, adjustment(2, "repair", 1, at(11)), (28, 3, 0, 0, 26))
    change("shipment_line", received, None, (10, 2, 19, 0, 27))


def test_the_table_of_windows() -> None:  # noqa: PLR0915 -- one row of the table after the other
    run, ten = Run(), at(10)

    def row(start: int = ten) -> list[int]:
        found: list[int] = run.state["windows"][str(start)]
        return found

    def sold(number: int, units: int, t: int, commit: int, **more: Any) -> None:
        amount = 999 * units
        run.put("sale_line", "c", commit, after=sale(number, units, t, amount=amount, **more))

    run.put("stock_count", "c", at(9, 0, 1), after=count(1, 20, at(9)))
    sold(1, 2, at(10, 3), at(10, 3, 1))
    assert (row(), run.state["on_hand"]) == ([2, 0, 1, 0, 1998, 0, 0], 18)
    sold(2, 1, at(10, 12), at(10, 12, 1))
    sold(3, 1, at(10, 8), at(10, 14))
    assert (row(), run.state["on_hand"]) == ([3, 0, 2, 0, 2997, 0, 0], 16)
    sold(4, -1, at(10, 19, 58), at(10, 19, 59))
    assert row(at(10, 10)) == [1, 1, 1, 1, 0, 0, 0]
    sold(5, 1, at(10, 9, 59), at(10, 20))
    assert (row(), run.state["on_hand"]) == ([4, 0, 3, 0, 3996, 1, 1], 16)
    row_6 = sale(6, 3, at(10, 5), amount=2997)
    run.put("sale_line", "c", at(12), after=row_6)
    assert (row(), run.state["on_hand"]) == ([7, 0, 4, 0, 6993, 2, 2], 13)
    run.put("sale_line", "d", at(12, 1), before=sale(3, 1, at(10, 8), amount=999))
    assert (row(), run.state["on_hand"]) == ([6, 0, 3, 0, 5994, 2, 3], 14)
    recorded = at(12, 27, 30) + 400_000
    sold(8, 1, at(12, 31), recorded + 100_000, recorded_at=recorded)
    assert (row(at(12, 20))[0], run.state["on_hand"]) == (1, 13)
    review = policy(at(0, days=4), reviewed_at=at(0, days=4))
    run.put("item_location", "c", at(0, days=4), after=review)
    assert (run.state["windows"], run.state["on_hand"]) == ({}, 13)
    late = run.put("sale_line", "c", at(0, days=4), after=sale(10, 1, at(10, 6), amount=999))
    assert (late["late"], run.state["on_hand"]) == ([{"units": 1, "amount_minor": 999}], 12)
    late = run.put("sale_line", "d", at(0, days=4), before=row_6)
    assert (late["late"], run.state["on_hand"]) == ([{"units": -3, "amount_minor": -2997}], 15)


def test_the_demand_table() -> None:
    n, demand = 72, Demand(begun=True)
    seen = []
    for sold, out in ((8, 0), (12, 0), (3, 36), (0, 0), (0, 0)):
        obs = half_even(sold * MICRO * n, n - out)
        demand = observe(demand, obs, DEFAULTS)
        seen.append((obs, demand.rate, demand.mad))
    assert seen == [
        (8_000_000, 8_000_000, 4_000_000),
        (12_000_000, 8_500_000, 4_000_000),
        (6_000_000, 8_187_500, 3_812_500),
        (0, 7_164_062, 4_359_375),
        (0, 6_268_554, 4_709_961),
    ]


def test_the_rate_of_an_item_with_gaps() -> None:
    demand, rates = Demand(begun=True), []
    for sold in (5, 0, 0, 4):
        demand = observe(demand, sold * MICRO, {**DEFAULTS, "demand_method": "tsb"})
        rates.append(demand.rate)
    assert rates == [5_000_000, 4_375_000, 3_828_125, 3_875_245]
    assert (demand.p, demand.z) == (794_922, 4_875_000)


def test_stock_out_windows_and_quiet_windows_of_whole_days() -> None:
    run = Run()
    hours = {"trading_windows": 72, "trading_from_window": 48}
    run.put("item_location", "c", at(0), after=policy(at(0), **hours))
    run.put("stock_count", "c", at(7), after=count(1, 40, at(7)))
    run.put("sale_line", "c", at(9, days=1), after=sale(1, 8, at(9, days=1)))
    run.put("sale_line", "c", at(9, days=2), after=sale(2, 12, at(9, days=2)))
    run.put("stock_count", "c", at(7, days=3), after=count(2, 3, at(7, days=3)))
    run.put("sale_line", "c", at(13, 55, days=3), after=sale(3, 3, at(13, 55, days=3)))
    run.put("sale_line", "c", at(0, 10, days=4), after=sale(4, 1, at(0, 9, days=4)))
    state = run.state
    assert (state["rate"], state["mad"], state["quiet_windows"]) == (8_187_500, 3_812_500, 0)
    assert state["observed_days"] == 3
    sums = Sums(run.model.keys[KEY].ledger)
    assert (sums.on_hand_before(at(7)), sums.on_hand_before(at(7, 10))) == (None, 40)


def test_the_episode_table() -> None:
    run, now = Run(), at(9)
    row = policy(now, replenish_family="sS", reorder_point_units=20, order_up_to_units=60)
    row |= {"pack_units": 6, "hysteresis_units": 2}
    said: list[tuple[Any, ...]] = []

    def put(table: str, op: str, t: int, **images: Any) -> tuple[int, str, int | None]:
        said.extend(
            (output["id"], output["revision"], output["status"], output["q"])
            for output in run.put(table, op, t, **images)["outputs"]
        )
        state = run.state
        return state["B"], state["episode"]["state"], state["episode"]["q"]

    def sold(number: int, units: int, t: int) -> tuple[int, str, int | None]:
        return put("sale_line", "c", t, after=sale(number, units, t))

    first, second = "R:L|S:1-2", "R:L|S:1-11"
    put("item_location", "c", now, after=row)
    assert put("stock_count", "c", now, after=count(1, 24, now)) == (24, "idle", None)
    assert sold(1, 4, at(9, 1)) == (20, "open", 42)
    assert said == [(first, 1, "open", 42)]
    assert sold(2, 2, at(9, 2)) == (18, "open", 42)
    assert sold(3, 4, at(9, 3)) == (14, "open", 48)
    found = adjustment(1, "found", 8, at(9, 1))
    assert put("stock_adjustment", "c", at(9, 4), after=found) == (22, "open", 48)
    other = decision(1, "R:L|S:1-1", "reject", at(9, 5))
    assert put("reorder_decision", "c", at(9, 5), after=other) == (22, "open", 48)
    snooze = decision(2, first, "snooze", at(9, 6), until_at=at(9, 6, days=2))
    assert put("reorder_decision", "c", at(9, 6), after=snooze) == (22, "held-snoozed", None)
    assert sold(4, 2, at(9, 7)) == (20, "held-snoozed", None)
    assert sold(5, 1, at(9, 6, days=2)) == (19, "open", 42)
    line = order(1, 12, at(9, 7, days=2), reorder_id=first)
    assert put("purchase_order_line", "c", at(9, 7, days=2), after=line) == (31, "idle", None)
    gone = {**line, "cancelled_units": 12}
    images = {"before": line, "after": gone}
    assert put("purchase_order_line", "u", at(9, 8, days=2), **images) == (19, "open", 42)
    assert said[1:] == [
        (first, 2, "open", 48),
        (first, 3, "snoozed", None),
        (first, 4, "open", 42),
        (first, 5, "accepted", None),
        (second, 1, "open", 42),
    ]

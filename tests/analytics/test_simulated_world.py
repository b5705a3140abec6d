"""Small histories whose simulated outcome was computed by hand."""

import pytest

from analytics.simulation.assumptions import ESTIMATED, RECORDED, Assumptions
from analytics.simulation.assumptions import POLICY as POLICY_LEADS
from tests.analytics.one_key import KEY, OneKey, us

DAY = 24


def a_steady_item(*, reorder_point: int = 4, lead_centidays: int = 200) -> OneKey:
    """Return an item with ten units at first, whose history always had stock.

    On each of ten days, two units are sold at noon, and two are received an hour later.
    """
    item = OneKey(
        policy={"reorder_point_units": reorder_point, "lead_time_centidays": lead_centidays}
    )
    for day in range(10):
        item.sale(day * DAY + 12, 2)
        row = {"reason": "found", "quantity_units": 2, "occurred_at": us(day * DAY + 13)}
        # These goods arrived in history. A simulation has the receipts of its own orders instead.
        goods = {"leg": "supplier_in", "status": "received", "received_units": 2}
        goods |= {"order_units": 0, "received_at": row["occurred_at"]}
        item.insert("shipment_line", goods, day * DAY + 13)
    return item


def test_a_steady_item_has_the_orders_and_outcome_computed_by_hand() -> None:
    # Stock falls 10, 8, 6, 4. At noon of day 2 it is 4, so 6 units are ordered.
    # It is 2 on day 3. The 6 units arrive on day 4 before the sale: 2 + 6 - 2 = 6.
    # It is 4 again on day 5, so the next 6 units are ordered, and so on.
    done = a_steady_item().run(10 * DAY)

    hours = [
        (order.ordered_us - us(0), order.received_us - order.ordered_us) for order in done.orders
    ]
    day_us = us(DAY) - us(0)
    assert [ordered // day_us for ordered, _ in hours] == [2, 5, 8]
    assert {lead for _, lead in hours} == {2 * day_us}
    assert [order.units for order in done.orders] == [6, 6, 6]
    found = done.outcome
    assert (found.wanted_units, found.sold_units, found.lost_units) == (20, 20, 0)
    assert (found.order_lines, found.ordered_units, found.received_units) == (3, 18, 12)
    assert (found.revenue_minor, found.cost_minor) == (20_000, 12_000)
    assert found.out_us == 0


def test_a_lower_reorder_point_loses_units_and_a_higher_one_keeps_stock() -> None:
    item = a_steady_item()
    low, same, high = (item.run(10 * DAY, reorder_point_units=s).outcome for s in (0, 4, 8))

    assert (low.lost_units, same.lost_units, high.lost_units) == (2, 0, 0)
    assert low.stock_units < same.stock_units < high.stock_units
    # At noon of day 4 the stock is 0. Ten units are ordered for noon of day 6, so day 5 loses two.
    assert low.out_us == (us(6 * DAY + 12) - us(4 * DAY + 12))


def test_history_and_baseline_have_equal_demand_sales_and_margin() -> None:
    item = a_steady_item()

    past, same = item.past(10 * DAY), item.run(10 * DAY).outcome

    assert (past.wanted_units, past.sold_units) == (same.wanted_units, same.sold_units) == (20, 20)
    assert (past.revenue_minor, past.margin_minor) == (same.revenue_minor, same.margin_minor)
    assert (past.received_units, past.order_lines) == (20, 0)
    assert past.out_us == 0


def test_a_lead_time_of_zero_delivers_before_the_next_sale() -> None:
    done = a_steady_item(lead_centidays=0).run(10 * DAY)

    assert {order.received_us - order.ordered_us for order in done.orders} == {0}
    assert done.outcome.lost_units == 0
    assert done.outcome.received_units == done.outcome.ordered_units == 18


def test_goods_that_arrive_in_the_same_second_as_a_count_are_added_to_it() -> None:
    # The opening count of 4 opens the need. The goods arrive in the same second, and the count
    # can't include them.
    item = OneKey(policy={"lead_time_centidays": 0}, opening=4)
    item.sale(1, 4)

    done = item.run(DAY)

    assert [order.units for order in done.orders] == [6]
    assert (done.outcome.received_units, done.outcome.lost_units) == (6, 0)
    assert done.outcome.out_us == 0


@pytest.mark.parametrize(("hours", "lost"), [(48, 0), (49, 1)])
def test_goods_that_arrive_in_the_second_of_a_sale_are_available_for_it(
    hours: int, lost: int
) -> None:
    # The count of 4 opens the need at hour 0. Three units are sold at hour 1 and two at hour 48.
    item = OneKey(opening=4)
    item.sale(1, 3)
    goods = {"leg": "supplier_in", "status": "received", "received_units": 6, "order_units": 0}
    item.insert("shipment_line", goods | {"received_at": us(47)}, 47)
    item.sale(48, 2)

    seconds = {"supplier ACME": (hours * 3600,)}
    done = item.run(72, experience=seconds)

    assert done.outcome.lost_units == lost
    planned = item.run(72, Assumptions(demand=RECORDED, lead_times=POLICY_LEADS))
    assert planned.orders[0].received_us == us(48)


@pytest.mark.parametrize(("units", "orders"), [(5, 0), (4, 1)])
def test_a_need_opens_at_the_reorder_point_and_not_above(units: int, orders: int) -> None:
    item = OneKey(opening=10)
    item.sale(1, 10 - units)

    assert item.run(72).outcome.order_lines == orders


def test_an_item_without_demand_keeps_its_stock() -> None:
    done = OneKey().run(10 * DAY)

    found = done.outcome
    assert (found.wanted_units, found.fill_permille, found.order_lines) == (0, None, 0)
    assert (found.stock_units, found.stock_minor, found.out_us) == (10, 6000, 0)
    assert found.period_us == us(10 * DAY) - us(0)


def test_negative_on_hand_at_the_start_means_more_units_on_the_shelf() -> None:
    # Three units are counted and five are sold, so two more were on the shelf than on-hand showed.
    item = OneKey(policy={"replenish_family": "off"}, opening=3)
    item.sale(1, 5)
    item.sale(2, 1)

    done = item.run(DAY)

    assert item.past(DAY).sold_units == 6
    assert (done.outcome.sold_units, done.outcome.lost_units) == (6, 0)
    assert done.outcome.out_us == us(DAY) - us(1)


def test_an_order_counts_negative_on_hand_as_0_and_no_sale_is_lost() -> None:
    item = OneKey(policy={"reorder_point_units": 2}, opening=3)
    item.sale(1, 5)
    item.sale(50, 4)

    done = item.run(72)

    # B counts -2 as 0, so the order is 10. On-hand rises from -2 to 8. The shelf has 10 units: 8,
    # and the two that on-hand lacks.
    assert [order.units for order in done.orders][:1] == [10]
    assert done.outcome.lost_units == 0


def test_the_approval_delay_and_order_days_move_an_order() -> None:
    item = OneKey(opening=4)  # the need opens on Monday 00:00
    item.sale(5 * DAY, 1)

    def ordered(minutes: int, mask: int) -> int:
        assumptions = Assumptions(minutes, mask, demand=RECORDED)
        return item.run(5 * DAY, assumptions).orders[0].ordered_us

    assert ordered(0, 127) == us(0)
    assert ordered(90, 127) == us(1) + 1_800_000_000
    assert ordered(0, 0b0000001) == us(0)  # Monday
    assert ordered(0, 0b0000100) == us(2 * DAY)  # Wednesday, from midnight on
    assert ordered(60 * DAY, 0b0000001 << 1) == us(DAY)  # the delay ends when Tuesday begins


def test_a_need_that_is_gone_before_its_approval_is_not_ordered() -> None:
    item = OneKey(opening=4)
    item.insert(
        "stock_adjustment",
        {"reason": "found", "quantity_units": 9, "occurred_at": us(1)},
        1,
    )

    assert item.run(DAY, Assumptions(59, demand=RECORDED)).outcome.order_lines == 1
    assert item.run(DAY, Assumptions(61, demand=RECORDED)).outcome.order_lines == 0


def test_a_count_changes_the_simulated_stock_by_its_variance_only() -> None:
    # The count of 6 replaces an on-hand of 8, so two units were lost.
    item = OneKey(policy={"order_up_to_units": 30})
    item.sale(1, 2)
    item.count(2, 6)
    item.sale(3, 3)

    same = item.run(DAY).outcome
    more = item.run(DAY, reorder_point_units=20, lead_time_centidays=0).outcome

    assert same.sold_units == more.sold_units == 5
    # On-hand is 10 + 20 - 2 - 2 - 3: the count lowers the simulated stock by two, too.
    assert more.received_units == 20
    assert more.lost_units == 0


def test_a_late_sale_from_before_a_count_is_counted_once() -> None:
    item = OneKey()
    item.count(3, 7)  # three units were sold before it, by a till without a network
    item.sale(4, 3, occurred=2)
    item.sale(5, 7)

    done = item.run(DAY, replenish_family="off").outcome

    assert (done.wanted_units, done.sold_units, done.lost_units) == (10, 10, 0)
    assert done.out_us == us(DAY) - us(5)


def test_corrected_and_deleted_sales_change_the_demand() -> None:
    item = OneKey(policy={"replenish_family": "off"})
    number = item.sale(1, 2)
    gone = item.sale(2, 3)
    row = {"id": number, "source": "till", "source_ref": "x", "condition": "resaleable"}
    row |= {"occurred_at": us(1)}
    before, after = (row | {"quantity_units": n, "amount_minor": n * 1000} for n in (2, 5))
    item.change("sale_line", before, after, 3)
    deleted = row | {"id": gone, "quantity_units": 3, "amount_minor": 3000}
    item.change("sale_line", deleted, None, 4)

    done = item.run(DAY).outcome

    assert (done.wanted_units, done.sold_units, done.revenue_minor) == (5, 5, 5000)


def test_a_return_adds_stock_and_a_theft_removes_it() -> None:
    item = OneKey(policy={"replenish_family": "off"}, opening=2)
    item.sale(1, 1)
    item.sale(2, -1)
    loss = {"reason": "theft", "quantity_units": 2, "occurred_at": us(3)}
    item.insert("stock_adjustment", loss, 3)

    done = item.run(DAY).outcome

    assert (done.sold_units, done.revenue_minor, done.cost_minor) == (1, 0, 0)
    assert done.out_us == us(DAY) - us(3)


def test_goods_to_other_locations_are_demand_without_revenue() -> None:
    item = OneKey(policy={"replenish_family": "off"}, opening=5)
    sent = {"leg": "transfer_out", "status": "shipped", "shipped_units": 4, "shipped_at": us(1)}
    item.insert("shipment_line", sent, 1)

    past, done = item.past(DAY), item.run(DAY).outcome

    assert (done.wanted_units, done.sold_units, done.revenue_minor) == (4, 4, 0)
    assert (past.wanted_units, past.sold_units) == (4, 4)


def test_an_order_that_is_open_at_the_start_arrives_as_in_history() -> None:
    item = OneKey(opening=None)
    line = {"order_ref": "PO-1", "supplier": "ACME", "status": "sent", "ordered_units": 8}
    order = item.insert("purchase_order_line", line | {"ordered_at": us(0)}, 0)
    item.count(1, 4)
    goods = {"leg": "supplier_in", "status": "received", "purchase_order_line_id": order}
    goods |= {"received_units": 8, "order_units": 8, "received_at": us(5)}
    item.insert("shipment_line", goods, 5)
    item.sale(6, 12)

    done = item.run(DAY)

    # B is 4 on hand plus 8 on order, so no need opens before the sale. The open order serves it.
    assert done.outcome.lost_units == 0
    assert [order.ordered_us for order in done.orders] == [us(6)]


def test_demand_without_stock_is_the_learned_rate_times_the_time() -> None:
    # The rate is 2 units a day. The item is sold out for 36 hours from noon of day 0: 3 units.
    item = OneKey(policy={"replenish_family": "off", "initial_rate_micro": 2_000_000}, opening=2)
    item.sale(12, 2)
    estimated = Assumptions(demand=ESTIMATED)

    short, exact = item.run(47, estimated).outcome, item.run(48, estimated).outcome

    assert (short.estimated_units, exact.estimated_units) == (2, 3)
    assert (exact.wanted_units, exact.sold_units, exact.lost_units) == (5, 2, 3)
    more = item.run(48, estimated, replenish_family="par", lead_time_centidays=0).outcome
    assert (more.wanted_units, more.sold_units) == (5, 5)
    assert item.run(48).outcome.estimated_units == 0


def test_a_periodic_family_is_reviewed_daily_where_history_has_no_reviews() -> None:
    item = a_steady_item()

    done = item.run(10 * DAY, replenish_family="RS", order_days_mask=0b0001000)  # Thursdays

    weekdays = {(order.ordered_us - us(0)) // (us(DAY) - us(0)) % 7 for order in done.orders}
    assert weekdays == {3}


def test_an_invalid_changed_policy_row_keeps_the_parameters_of_the_log() -> None:
    item = a_steady_item()

    done = item.run(10 * DAY, order_up_to_units=3)

    assert "order_up_to_units must be above reorder_point_units" in done.problem
    assert done.outcome.refused_policies == 1
    assert done.outcome.order_lines == item.run(10 * DAY).outcome.order_lines


def test_only_rows_that_meet_the_conditions_change() -> None:
    item = a_steady_item()
    baseline = item.run(10 * DAY)

    missed = item.run(10 * DAY, where={"supplier": "BORG"}, reorder_point_units=0)
    met = item.run(10 * DAY, where={"supplier": "ACME"}, reorder_point_units=0)

    assert missed.outcome == baseline.outcome
    assert met.outcome != baseline.outcome


def test_the_latest_parameters_hold_from_the_start() -> None:
    item = OneKey(policy={"replenish_family": "off"})
    for day in range(5):
        item.sale(day * DAY + 12, 2)
    item.policy(5 * DAY, replenish_family="sS")

    logged = item.run(6 * DAY)
    latest = item.run(6 * DAY, Assumptions(demand=RECORDED, parameters="latest"))

    assert [order.ordered_us for order in logged.orders] == [us(5 * DAY)]
    assert [order.ordered_us for order in latest.orders][:1] == [us(2 * DAY + 12)]


def test_an_imported_history_is_simulated_at_the_business_times_of_its_facts() -> None:
    item = OneKey(policy={"clock_mode": "replayed"})
    for day in range(10):
        item.sale(1000, 2, occurred=day * DAY + 12)

    done = item.run(10 * DAY)

    assert not item.history().is_live
    assert [order.ordered_us for order in done.orders] == [us(day * DAY + 12) for day in (2, 5, 8)]
    assert done.outcome.period_us == us(10 * DAY) - us(0)


def test_the_history_measures_the_time_from_a_need_to_its_order() -> None:
    item = OneKey(opening=4)  # the record at offset 1 opens the need
    line = {"order_ref": "PO-1", "supplier": "ACME", "status": "sent", "ordered_units": 6}
    line |= {"reorder_id": f"R:{KEY}:1-1", "ordered_at": us(3)}
    item.insert("purchase_order_line", line, 3)

    history, past = item.history(), item.past(DAY)

    assert history.answered_minutes == {180: 1}
    assert (past.order_lines, past.ordered_units) == (1, 6)
    assert history.is_ever_replenished
    assert not OneKey(policy={"replenish_family": "off"}).history().is_ever_replenished


def test_time_without_replenishment_counts_from_the_start_to_the_end_of_the_history() -> None:
    item = OneKey(policy={"replenish_family": "off"})
    item.sale(1, 1)
    item.policy(24, replenish_family="sS")
    item.sale(30, 1)
    item.policy(36, replenish_family="off")

    assert item.history().off_us(us(48)) == us(24) - us(0) + us(48) - us(36)
    assert item.history().off_us(us(40)) == us(24) - us(0) + us(40) - us(36)
    assert OneKey().history().off_us(us(48)) == 0


def test_an_item_is_changed_if_the_scenario_changes_a_policy_row() -> None:
    item = a_steady_item()

    assert item.run(10 * DAY, hysteresis_units=9).is_changed
    assert not item.run(10 * DAY).is_changed
    assert not item.run(10 * DAY, where={"location": "ELSEWHERE"}, hysteresis_units=9).is_changed
    assert not item.run(10 * DAY, order_up_to_units=3).is_changed  # refused


@pytest.mark.parametrize(("opening", "reason"), [(None, "no approved count"), (10, "")])
def test_an_item_without_an_approved_count_is_left_out(opening: int | None, reason: str) -> None:
    assert OneKey(opening=opening).history().left_out == reason

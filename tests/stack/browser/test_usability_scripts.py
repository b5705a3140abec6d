"""Tasks of a working day with a limit of presses, by mouse, by keyboard alone and on a phone.

The preparation (login, desk, store) uses the same input and doesn't count. A page that needs
more presses fails. `test_buyers_minute.py` has the task of the buyer: order twenty needs.
"""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.stack.browser.conftest import Doors
from tests.stack.browser.hand import COVERED, KEYBOARD, MOUSE, PHONE, WINDOWS, Hand
from tests.stack.browser.shop import Shop
from tests.stack.browser.working_day import ITEMS, ORDERED_UNITS, SHELF_UNITS, WorkingDay
from tests.stack.running import RunningStack

# Other tests do the same tasks by mouse without a limit of presses, and open pages on a phone.
BY = [*(pytest.param(by, marks=pytest.mark.soak) for by in (MOUSE, PHONE)), KEYBOARD]
EXPLAIN, HAND_IN, ROLL_BACK, REPLAY, TRIAL = 1, 1, 3, 4, 4
LINES = 2
RECEIVE = LINES + 4


@pytest.fixture(scope="module")
def day(stack: RunningStack) -> Iterator[WorkingDay]:
    """Work at one shop for all tests of this module."""
    begun = WorkingDay(stack, Shop(stack.settings.owner_database_url.get_secret_value()))
    begun.begin()
    yield begun
    begun.end()


def hand_of(doors: Doors, role: str, by: str, desk: str) -> Hand:
    """Return the hand of a person who has opened their desk from the home page."""
    visitor = doors.log_in(role, **WINDOWS[by])
    visitor.expected = ("422",)
    hand = Hand(visitor.open("/home/"), by)
    hand.open_desk(desk)
    return hand


@pytest.mark.parametrize("by", BY)
def test_an_item_is_found_by_typed_text_and_explained_with_one_press(
    doors: Doors, day: WorkingDay, by: str
) -> None:
    page = doors.enter(**WINDOWS[by]).open("/login/")
    hand = Hand(page, by)
    hand.fill(page.get_by_label("User name"), "associate")
    hand.fill(page.get_by_label("Password"), doors.people.password)
    hand.press(page.get_by_role("button", name="Log in"))
    expect(page.get_by_role("heading", name="What waits for you")).to_be_visible()
    hand.open_desk("Find")
    field = page.get_by_role("searchbox")
    expect(field).to_be_focused()
    hand.choose(page.get_by_label("My store"), day.shop.location.title())
    if by == KEYBOARD:
        hand.reach(field)
    hand.presses = 0

    expect(field).to_be_focused()
    page.keyboard.type(day.name(4).replace("Kettle", "kettel"))
    card = page.locator("article.found")
    expect(card).to_have_count(1)
    expect(card.locator('[data-f="available"]')).to_have_text(str(SHELF_UNITS))
    assert hand.presses == 0
    hand.press(card.get_by_role("link", name=day.name(4)))

    expect(page.locator("#facts-total")).to_have_text(str(SHELF_UNITS))
    assert hand.presses <= EXPLAIN


@pytest.mark.parametrize("by", BY)
def test_ten_items_are_counted_with_one_press_after_the_last_quantity(
    doors: Doors, day: WorkingDay, by: str
) -> None:
    hand = hand_of(doors, "associate", by, "Count")
    page, first = hand.page, 10 * (1 + [*WINDOWS].index(by))
    hand.choose(page.get_by_label("Location"), day.shop.location.title())
    hand.press(page.get_by_role("button", name="Start a sheet"))
    hand.press(page.get_by_label("Ask for the number of units"))
    expect(page.get_by_label("Scan or type a code")).to_be_focused()
    hand.presses = 0

    for number in range(ITEMS):
        page.keyboard.type(f"{day.sku(number)}\n{first + number}\n", delay=15)
    hand.press(page.get_by_role("button", name="Hand the sheet in"))

    expect(page.get_by_text("handed in. Another person has to approve")).to_be_visible()
    assert hand.presses <= HAND_IN
    # An earlier sheet of this shop shows the same text, so wait for the rows.
    expected = [(day.sku(number), first + number) for number in range(ITEMS)]
    day.stack.wait_until(lambda: day.counted(first) == expected)


@pytest.mark.parametrize("by", BY)
def test_a_short_delivery_is_received_after_the_missing_reason_is_added(
    doors: Doors, day: WorkingDay, by: str
) -> None:
    hand = hand_of(doors, "associate", by, "Receive")
    page = hand.page
    page.keyboard.type(f"{day.order(by)}\n")
    expect(page.get_by_label("Scan an item")).to_be_focused()
    hand.presses = 0

    line = page.locator(f'[data-sku="{day.sku(0)}"]')
    hand.fill(line.get_by_label("Received"), str(ORDERED_UNITS - 2))
    hand.press(page.get_by_role("button", name="Receive and accept the rest"))
    why = page.get_by_role("alert")
    expect(why).to_contain_text("choose a reason")
    assert why.evaluate(COVERED) == ""
    reason = line.get_by_label("Reason")
    hand.choose(reason, "short")
    reason.focus()
    assert reason.evaluate(COVERED) == ""
    hand.press(page.get_by_role("button", name="Receive and accept the rest"))

    expect(page.get_by_text("Final report of this delivery")).to_be_visible()
    assert hand.presses <= RECEIVE
    received = day.shop.sql(
        "SELECT received_units, discrepancy_reason FROM retail.shipment_line s"
        " JOIN retail.purchase_order_line l ON l.id = s.purchase_order_line_id"
        " WHERE l.order_ref = %s ORDER BY l.sku",
        day.order(by),
    )
    assert received == [(ORDERED_UNITS - 2, "short"), (ORDERED_UNITS, None)]


@pytest.mark.parametrize("by", BY)
def test_a_price_is_rolled_back_with_three_presses(doors: Doors, day: WorkingDay, by: str) -> None:
    hand = hand_of(doors, "pricing", by, "Prices")
    page, sku = hand.page, day.sku([*WINDOWS].index(by))
    hand.presses = 0

    hand.press(page.get_by_role("link", name="Changes"))
    hand.press(
        page.get_by_role("row")
        .filter(has_text=sku)
        .get_by_role("button", name="Roll back to €9.99")
    )

    expect(page.locator(".toasts .notice")).to_be_visible()
    assert hand.presses <= ROLL_BACK
    kinds = day.shop.sql(
        "SELECT kind, price_minor FROM retail.price_change WHERE inv_key = %s"
        " ORDER BY id DESC LIMIT 1",
        day.shop.key(sku),
    )
    assert kinds == [("rollback", 999)]


@pytest.mark.parametrize("by", BY)
def test_a_rejected_record_is_found_and_replayed_with_four_presses(
    doors: Doors, day: WorkingDay, by: str
) -> None:
    hand = hand_of(doors, "operator", by, "System")
    page, record = hand.page, day.record([*WINDOWS].index(by))
    alarm = page.get_by_role("row").filter(has_text="without effect")
    hand.presses = 0

    hand.press(alarm.get_by_role("link", name="Open"))
    hand.press(page.get_by_role("link", name=f"Show and settle {record}"))
    hand.fill(page.get_by_label("Reason"), "the till sent it late")
    hand.press(page.get_by_role("button", name="Send again"))

    expect(page.get_by_text("Replayed by operator")).to_be_visible()
    assert hand.presses <= REPLAY


@pytest.mark.soak  # each part takes some seconds; tests/ledger/test_history_pages.py has its pages
@pytest.mark.parametrize("by", WINDOWS)
def test_changed_parameters_are_recomputed_and_compared_with_four_presses(
    doors: Doors, day: WorkingDay, by: str
) -> None:
    hand = hand_of(doors, "analyst", by, "History")
    page = hand.page
    hand.presses = 0

    hand.fill(page.get_by_label("Changed parameters"), "safety_centidays=200")
    hand.press(page.get_by_role("button", name="Recompute"))
    hand.press(page.get_by_role("button", name="Compare with the present rules"))
    hand.press(page.get_by_role("link", name="Open the result"))

    alike_or_not = re.compile("Both sides decide alike|decisions differ")
    expect(page.get_by_role("heading", level=1)).to_contain_text(alike_or_not)
    assert hand.presses <= TRIAL

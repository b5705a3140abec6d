"""A buyer orders twenty needs and sends the orders with at most six clicks, keys or taps."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.stack.browser.conftest import DEADLINE_MS, Doors
from tests.stack.browser.hand import HELD_MS, KEYBOARD, MOUSE, PHONE, WINDOWS, Hand
from tests.stack.browser.looks import faults_of
from tests.stack.browser.shop import Shop
from tests.stack.browser.test_orders import needs
from tests.stack.running import RunningStack

TWENTY = [f"ITEM-{number:02}" for number in range(20)]
MOST_CLICKS = 3  # to approve twenty needs and send their orders
MOST_NODES = 1_500
# Windows in which the column of items must be wider than at 1,280 pixels.
WIDER = (1440, 1600)
LOWEST_ROW, HIGHEST_ROW = 36, 40
# A key-wedge scanner types "xa" at once, and a person holds the key a. Then nobody types for 0.3 s.
SCANNED = """() => { for (const [key, repeat] of [["a", true], ["x", false], ["a", false]]) {
      const event = new KeyboardEvent("keydown", { key, repeat, bubbles: true });
      document.activeElement.dispatchEvent(event); }
    return new Promise(done => setTimeout(done, 300)); }"""
DEMAND_MICRO = 5_000_000  # units a day: so many that an order of 42 raises no doubt


@pytest.fixture
def twenty(stack: RunningStack, shop: Shop) -> Shop:
    for sku in TWENTY:
        shop.range(sku, 18)
    stack.wait_until(lambda: len(needs(shop)) == 20, describe=lambda: str(needs(shop)))
    return shop


def sent(shop: Shop) -> int:
    return sum(status == "sent" for _units, status, _by in shop.order_lines())


def dismiss_notices(page: Page) -> None:
    """Dismiss the notices about earlier orders that this person sent."""
    buttons = page.locator("#sends .send-notice button")
    while left := buttons.count():
        buttons.first.click()
        expect(buttons).to_have_count(left - 1)


def prepared(doors: Doors, shop: Shop, by: str) -> Hand:
    """Return the hand of a buyer who has opened the desk and chosen the store."""
    visitor = doors.log_in("buyer", **WINDOWS[by])
    hand = Hand(visitor.open("/home/"), by)
    hand.open_desk("Reorders")
    if by == PHONE:
        hand.press(hand.page.get_by_role("button", name="Filters"))
    hand.choose(
        hand.page.get_by_role("combobox", name="Store"), shop.location.title(), submits=True
    )
    hand.page.wait_for_url(f"**location={shop.location}*")
    hand.presses = 0
    return hand


@pytest.mark.parametrize("by", [MOUSE, pytest.param(PHONE, marks=pytest.mark.soak)])
def test_a_buyer_sends_orders_for_twenty_needs_within_the_click_limit(
    stack: RunningStack, doors: Doors, twenty: Shop, by: str
) -> None:
    hand = prepared(doors, twenty, by)
    page = hand.page
    waiting = page.get_by_role("region", name="Waiting to be sent")
    ended = page.get_by_role("region", name="Sent", exact=True)
    ended_before = ended.count()

    hand.press(page.locator("[data-pick-section]").first)
    expect(page.locator("[data-picked]")).to_have_text("20 picked · €3,360.00 · 1 supplier")
    hand.press(page.get_by_role("button", name="Approve and send"))

    expect(waiting).to_contain_text("20 needs in 1 order")
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    assert twenty.order_lines() == []
    page.reload()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    stack.wait_until(lambda: sent(twenty) == 20, describe=lambda: str(twenty.order_lines()))
    expect(ended).to_have_count(ended_before + 1, timeout=DEADLINE_MS)
    expect(ended.first).to_contain_text("Sent 20 needs in 1 order")
    assert hand.presses <= MOST_CLICKS


@pytest.mark.soak
def test_a_buyer_sends_and_undoes_twenty_needs_with_the_keyboard_alone(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    for number, sku in enumerate(TWENTY):
        # The first need has no demand, so it has a flag. All others have none.
        shop.range(sku, 18, rate_micro=DEMAND_MICRO if number else None)
    stack.wait_until(lambda: len(needs(shop)) == 20, describe=lambda: str(needs(shop)))
    hand = prepared(doors, shop, KEYBOARD)
    page, keyboard = hand.page, hand.page.keyboard
    ended = page.get_by_role("region", name="Sent", exact=True)
    ended_before = ended.count()
    group = page.locator("[data-section=routine] > summary")
    keyboard.press("k")
    expect(group).to_be_focused()
    expect(group).to_have_text(re.compile(r"Routine\s+19"))

    page.evaluate(SCANNED)
    expect(page.locator("[data-picked]")).to_have_text("Nothing picked")
    hand.key("a")
    expect(page.get_by_role("region", name="Waiting to be sent")).to_contain_text(
        "19 needs in 1 order"
    )
    hand.key("u")
    expect(page.get_by_text("Undone: nothing was sent")).to_be_visible()
    assert shop.order_lines() == []
    hand.presses = 0
    keyboard.press("k", delay=HELD_MS)
    hand.key("x")
    keyboard.press("k", delay=HELD_MS)
    hand.key("x")
    expect(page.locator("[data-picked]")).to_have_text(
        re.compile("20 picked.*19 in a closed group")
    )
    hand.key("a")
    assert hand.presses <= MOST_CLICKS

    expect(ended).to_have_count(ended_before + 1, timeout=DEADLINE_MS)
    expect(ended.first).to_contain_text("Sent 20 needs in 1 order")
    hand.press(ended.first.get_by_role("link").first)
    expect(page.locator(".state-pill")).to_have_text("On its way")
    assert sent(shop) == 20


def test_the_reorders_table_is_dense_small_and_accessible(doors: Doors, twenty: Shop) -> None:
    page = doors.log_in("buyer", viewport={"width": 1280, "height": 900}).open(
        f"/reorders/?location={twenty.location}"
    )
    dismiss_notices(page)

    heights = page.evaluate(
        "() => [...document.querySelectorAll('tr[data-proposal]')]"
        ".map(row => row.getBoundingClientRect()).map(box => [box.height, box.bottom])"
    )
    bar = page.locator("#bulk").bounding_box()
    assert bar is not None
    names = page.locator("a[data-need]").all()
    narrow = min(name.evaluate("name => name.closest('th').clientWidth") for name in names)
    assert narrow > 150
    assert all(LOWEST_ROW <= height <= HIGHEST_ROW for height, _ in heights)
    assert sum(bottom <= bar["y"] for _, bottom in heights) >= 12
    assert page.evaluate("() => document.querySelectorAll('*').length") <= MOST_NODES
    for width in WIDER:
        page.set_viewport_size({"width": width, "height": 900})
        assert names[0].evaluate("name => name.closest('th').clientWidth") > narrow, width
    page.set_viewport_size({"width": 1280, "height": 900})
    page.locator("a[data-need]").first.click()
    expect(page.locator("tr.details")).to_contain_text("Above the reorder point")
    assert faults_of(page) == []

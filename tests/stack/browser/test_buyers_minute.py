"""The buyer's minute: twenty needs to sent orders within six clicks, by mouse, keys and phone."""

import pytest
from playwright.sync_api import Page, expect

from tests.stack.browser.conftest import DEADLINE_MS, Doors
from tests.stack.browser.looks import faults_of
from tests.stack.browser.shop import Shop
from tests.stack.browser.test_orders import needs
from tests.stack.running import RunningStack

TWENTY = [f"ITEM-{number:02}" for number in range(20)]
MOST_CLICKS = 6
MOST_NODES = 1_500
LOWEST_ROW, HIGHEST_ROW = 36, 40
COUNT_CLICKS = """() => {
  const add = () => sessionStorage.setItem("clicks", Number(sessionStorage.getItem("clicks")) + 1);
  addEventListener("click", event => event.isTrusted && add(), true);
}"""


@pytest.fixture
def twenty(stack: RunningStack, shop: Shop) -> Shop:
    for sku in TWENTY:
        shop.range(sku, 18)
    stack.wait_until(lambda: len(needs(shop)) == 20, describe=lambda: str(needs(shop)))
    return shop


def sent(shop: Shop) -> int:
    return sum(status == "sent" for _units, status, _by in shop.order_lines())


def clicks(page: Page) -> int:
    return int(page.evaluate("() => Number(sessionStorage.getItem('clicks'))"))


def dismiss_notices(page: Page) -> None:
    """Dismiss the notices about earlier orders that this person sent."""
    buttons = page.locator("#sends .send-notice button")
    while left := buttons.count():
        buttons.first.click()
        expect(buttons).to_have_count(left - 1)


@pytest.mark.parametrize("size", [(1280, 900), pytest.param((390, 844), marks=pytest.mark.soak)])
def test_twenty_needs_become_sent_orders_in_six_clicks(
    stack: RunningStack, doors: Doors, twenty: Shop, size: tuple[int, int]
) -> None:
    visitor = doors.log_in("buyer", viewport={"width": size[0], "height": size[1]})
    visitor.page.add_init_script(f"({COUNT_CLICKS})()")
    page = visitor.open(f"/reorders/?location={twenty.location}")
    before = clicks(page)
    waiting = page.get_by_role("region", name="Waiting to be sent")
    ended = page.get_by_role("region", name="Sent", exact=True)
    ended_before = ended.count()

    page.locator("[data-pick-section]").first.check()
    expect(page.locator("[data-picked]")).to_have_text("20 picked · €3,360.00 · 1 supplier")
    page.get_by_role("button", name="Approve and send").click()

    expect(waiting).to_contain_text("20 needs in 1 order")
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    assert twenty.order_lines() == []
    page.reload()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    stack.wait_until(lambda: sent(twenty) == 20, describe=lambda: str(twenty.order_lines()))
    expect(ended).to_have_count(ended_before + 1, timeout=DEADLINE_MS)
    expect(ended.first).to_contain_text("Sent 20 needs in 1 order")
    assert clicks(page) - before <= MOST_CLICKS


def test_the_same_by_keyboard_alone_and_undone(doors: Doors, twenty: Shop) -> None:
    page = doors.log_in("buyer").open(f"/reorders/?location={twenty.location}")
    page.locator("[data-pick-section]").first.focus()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Approve and send").focus()
    page.keyboard.press("Enter")

    undo = page.get_by_role("button", name="Undo")
    expect(undo).to_be_visible()
    undo.focus()
    page.keyboard.press("Enter")

    expect(page.get_by_text("Undone: nothing was sent")).to_be_visible()
    expect(page.locator("tr[data-proposal]").first).to_be_visible()
    assert twenty.order_lines() == []


def test_the_table_is_dense_small_and_accessible(doors: Doors, twenty: Shop) -> None:
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
    assert all(name.evaluate("name => name.closest('th').clientWidth") > 150 for name in names)
    assert all(LOWEST_ROW <= height <= HIGHEST_ROW for height, _ in heights)
    assert sum(bottom <= bar["y"] for _, bottom in heights) >= 12
    assert page.evaluate("() => document.querySelectorAll('*').length") <= MOST_NODES
    page.locator("a[data-need]").first.click()
    expect(page.locator("tr.details")).to_contain_text("Above the reorder point")
    assert faults_of(page) == []

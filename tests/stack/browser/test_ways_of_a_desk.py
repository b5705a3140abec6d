"""Focus and scroll position: after a decision, during updates, and in a form that changes."""

import pytest
from playwright.sync_api import Page, expect

from tests.stack.browser.conftest import DEADLINE_MS, Doors
from tests.stack.browser.shop import Shop
from tests.stack.running import RunningStack

TOP = "card => card.getBoundingClientRect().top"
SIZES = {"desk": {"width": 1280, "height": 420}, "phone": {"width": 390, "height": 844}}


@pytest.fixture
def proposals(stack: RunningStack, shop: Shop) -> list[str]:
    """Return the ids of eight price proposals, in the order of the desk."""
    skus = [f"MUG-{number}" for number in range(8)]
    for sku in skus:
        shop.range(sku, 42)
    stack.wait_until(lambda: shop.shown(skus))
    return [shop.propose_price(sku, old_minor=999, new_minor=949) for sku in skus]


def shown_order(page: Page) -> list[str]:
    cards = page.locator("[data-proposal]")
    return [str(card.get_attribute("data-proposal")) for card in cards.all()]


@pytest.mark.parametrize("size", SIZES)
def test_a_decision_moves_the_focus_to_the_next_card_and_keeps_it_there(
    doors: Doors, shop: Shop, proposals: list[str], size: str
) -> None:
    pricing = doors.log_in("pricing", viewport=SIZES[size])
    page = pricing.open(f"/prices/?view=open&location={shop.location}")
    order = shown_order(page)
    assert sorted(order) == sorted(proposals)
    decided, following = (page.locator(f'[data-proposal="{name}"]') for name in order[4:6])

    decided.get_by_role("button", name="Details").click()
    details = page.locator(f'[data-details="{order[4]}"]')
    details.get_by_label("Reason").fill("not now")
    details.get_by_role("button", name="Reject").click()

    expect(following).to_be_focused()
    expect(following).to_be_in_viewport()
    said = page.get_by_text("Rejected. The rules propose no price")
    expect(said).to_be_in_viewport(ratio=1)
    # The next focusable element is in this card.
    page.keyboard.press("Tab")
    expect(following.get_by_role("link").first).to_be_focused()
    following.focus()

    before = following.evaluate(TOP)
    shop.sql(
        "UPDATE app.price_proposal SET status = 'rejected', updated_at = clock_timestamp()"
        " WHERE proposal_id = %s",
        order[4],
    )

    expect(decided).to_have_count(0, timeout=DEADLINE_MS)
    expect(following).to_be_focused()
    assert abs(following.evaluate(TOP) - before) <= 2
    expect(said).to_be_in_viewport(ratio=1)


def test_an_older_record_does_not_overwrite_a_newer_price_on_the_page(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    key = shop.range("MUG", 42)
    stack.wait_until(lambda: shop.shown(["MUG"]))
    page = doors.log_in("associate").open(f"/?location={shop.location}")
    expect(page.locator("#pill")).to_have_attribute("data-state", "live", timeout=DEADLINE_MS)
    row = page.locator(f'[data-key="{key}"]')
    expect(row.locator('[data-f="cover"]')).to_have_text("no demand")
    expect(row.get_by_role("cell").filter(has=page.locator("svg path")).first).to_be_visible()
    # Pretend that the page was rendered an hour from now. Its price is newer than the update's.
    row.evaluate("row => { row.dataset.pricedAt = (Date.now() + 3_600_000) * 1000; }")
    row.locator('[data-f="price"]').evaluate("cell => { cell.textContent = '8.49'; }")

    shop.sell("MUG", 2)

    expect(row.locator('[data-f="on_hand"]')).to_have_text("40", timeout=DEADLINE_MS)
    expect(row.locator('[data-f="price"]')).to_have_text("8.49")


ASKED = """form => [...form.querySelectorAll("label:not([hidden]) :is(input, select)")]
    .map(field => field.name)"""
ALWAYS = {"location", "sku", "name", "opening", "supplier", "replenish_family"}
PRICE = {"cost", "regular", "margin", "tax", "price_mode"}
ORDERS = {"pack_units", "moq_units", "lead_time"}


def test_the_range_form_shows_only_the_fields_that_the_family_uses(
    doors: Doors, shop: Shop
) -> None:
    page = doors.log_in("lead").open(f"/range/?location={shop.location}&sku=NEW")
    form = page.locator("form[data-uses]")

    def asked() -> set[str]:
        return set(form.evaluate(ASKED)) - ALWAYS - PRICE

    assert asked() == set()
    expect(page.get_by_role("heading", name="For computed levels")).to_be_hidden()
    page.get_by_label("Family").select_option("par")
    assert asked() == {"order_up_to_units", *ORDERS}
    page.get_by_label("Family").select_option("sS")
    assert asked() == {"levels", "reorder_point_units", "order_up_to_units", *ORDERS}
    page.get_by_label("Levels").select_option("computed")
    page.get_by_label("Safety stock SS").select_option("service")
    computed = {"levels", "order_quantity_units", "cycle", "safety_method", "service_z_micro"}
    assert asked() == {*computed, *ORDERS}
    expect(page.get_by_role("heading", name="For computed levels")).to_be_visible()
    # Hidden fields are not sent.
    names = form.evaluate("form => [...new FormData(form).keys()]")
    assert not {"reorder_point_units", "order_up_to_units", "review"} & set(names)


def test_the_range_form_shows_all_fields_without_javascript(doors: Doors) -> None:
    visitor = doors.log_in("lead", java_script_enabled=False)
    visitor.expected = (" csp",)  # Chromium's reason for a script module that it doesn't load
    page = visitor.open("/range/")

    for label in ("Reorder point s, units", "Minimum cover, days", "Service level z, millionths"):
        expect(page.get_by_label(label)).to_be_visible()
        expect(page.get_by_label(label)).to_be_enabled()

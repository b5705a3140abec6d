"""Purchasing in a real browser, from the need to the received goods, also on a phone."""

from urllib.parse import quote

from playwright.sync_api import Page, expect

from tests.stack.browser.conftest import Doors
from tests.stack.browser.looks import faults_of
from tests.stack.browser.shop import Shop
from tests.stack.running import RunningStack

CASE = "14006381333938"  # the GTIN of a case of 6 mugs


def approved_order(stack: RunningStack, doors: Doors, shop: Shop, *skus: str) -> tuple[str, Page]:
    """Approve a need for each of `skus` as a buyer. Return the order's reference and the page."""
    for sku in skus:
        shop.range(sku, 18)
    stack.wait_until(
        lambda: len(needs(shop)) == len(skus), describe=lambda: f"open needs: {needs(shop)}"
    )
    page = doors.log_in("buyer").open(f"/reorders/?location={shop.location}")
    # Without sales the rules flag the needs, so these are in the section of flagged needs.
    page.locator("[data-pick-section]").first.check()
    expect(page.locator("[data-picked]")).to_contain_text(f"{len(skus)} picked")
    page.get_by_role("button", name=f"Approve {len(skus)}").click()
    expect(page.get_by_text(f"Ordered {len(skus)} need")).to_be_visible()
    [(ref,)] = shop.sql(
        "SELECT DISTINCT order_ref FROM retail.purchase_order_line WHERE location = %s",
        shop.location,
    )
    return str(ref), page


def needs(shop: Shop) -> list[tuple[object, ...]]:
    return shop.sql(
        "SELECT reorder_id FROM app.reorder_proposal WHERE location = %s AND status = 'open'",
        shop.location,
    )


def figures(shop: Shop, sku: str) -> tuple[object, ...] | None:
    """Return on-hand and on-order as the workers see them."""
    found = shop.sql(
        "SELECT on_hand_units, on_order_units FROM read_model.stock WHERE inv_key = %s",
        shop.key(sku),
    )
    return found[0] if found else None


def scan_cases(dock: Page) -> None:
    """Scan a case of 6 mugs twice, then once with a wrong digit. One mug was scanned before."""
    for code, said in (
        (CASE, "MUG: 7 of 42."),
        (f"(01){CASE}(10)A7", "MUG: 13 of 42."),  # only the server parses this form
        (f"{CASE[:-1]}9", "the last digit is 9, but the check digit of this number is 8"),
    ):
        dock.get_by_label("Scan an item").fill(code)
        dock.keyboard.press("Enter")
        expect(dock.get_by_text(said)).to_be_visible()


def send(buyer: Page, doors: Doors, shop: Shop, ref: str) -> None:
    """Send a draft order from its page, and wait until the page shows it as sent."""
    buyer.goto(f"{doors.base}/orders/?view=draft&location={shop.location}")
    buyer.get_by_role("link", name=ref).click()
    buyer.get_by_role("button", name="Send order").dblclick()
    expect(buyer.get_by_role("button", name="Undo")).to_be_visible()
    expect(buyer.get_by_text("Sent 1 order")).to_be_visible()
    expect(buyer.locator(".state-pill")).to_have_text("On its way")


def test_a_need_is_ordered_received_short_and_its_rest_cancelled(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    ref, buyer = approved_order(stack, doors, shop, "MUG", "CUP")
    stack.wait_until(
        lambda: figures(shop, "MUG") == (18, 42), describe=lambda: str(figures(shop, "MUG"))
    )
    send(buyer, doors, shop, ref)

    shop.sql("INSERT INTO retail.gtin VALUES (%s, 'MUG', 6) ON CONFLICT DO NOTHING", CASE)
    dock = doors.log_in("associate").open("/receiving/")
    dock.get_by_label("Scan or type an order or an item").fill(ref)
    dock.keyboard.press("Enter")
    field = dock.get_by_label("Scan an item")
    expect(field).to_be_focused()
    field.fill("MUG")
    dock.keyboard.press("Enter")
    expect(dock.get_by_text("MUG: 1 of 42.")).to_be_visible()
    scan_cases(dock)
    mug = dock.locator('[data-sku="MUG"]')
    mug.get_by_label("Received").fill("40")
    mug.get_by_label("Reason").select_option("short")
    dock.get_by_role("button", name="Receive and accept the rest").click()
    expect(dock.get_by_text("Final report of this delivery")).to_be_visible()
    stack.wait_until(
        lambda: (figures(shop, "MUG"), figures(shop, "CUP")) == ((58, 2), (60, 0)),
        describe=lambda: f"{figures(shop, 'MUG')} {figures(shop, 'CUP')}",
    )

    buyer.goto(f"{doors.base}/orders/order?ref={quote(ref)}")
    buyer.get_by_role("button", name="Details of Item MUG").click()
    buyer.get_by_text("Cancel the rest").click()
    buyer.get_by_role("button", name="Cancel 2 units").click()
    expect(buyer.get_by_text("Cancelled 2 units")).to_be_visible()
    stack.wait_until(
        lambda: figures(shop, "MUG") == (58, 0), describe=lambda: str(figures(shop, "MUG"))
    )
    buyer.goto(f"{doors.base}/orders/?view=closed&location={shop.location}")
    closed = buyer.get_by_role("region", name="Orders")  # the notice about the send names it, too
    expect(closed.get_by_role("link", name=ref)).to_be_visible()


def test_order_and_receiving_pages_are_accessible_and_fit_a_phone(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    ref, _page = approved_order(stack, doors, shop, "MUG")
    buyers = ("/orders/", "/orders/?view=overdue", f"/orders/order?ref={ref}")
    faults = looked_at(doors, "buyer", (*buyers, f"/orders/document?ref={ref}"))
    shop.sql("UPDATE retail.purchase_order_line SET status = 'sent' WHERE order_ref = %s", ref)

    docks = ("/receiving/", f"/receiving/order?ref={ref}")
    faults += looked_at(doors, "associate", docks)

    assert faults == []


def looked_at(doors: Doors, role: str, paths: tuple[str, ...]) -> list[str]:
    """Return the faults of these pages with all their parts expanded."""
    page = doors.log_in(role).page
    faults: list[str] = []
    for path in paths:
        page.goto(doors.base + path)
        faults += faults_of(page, opened=True)
    return faults

"""Counting in a real browser: scans aren't lost; a late sale changes the variance, not stock."""

import pytest
from playwright.sync_api import Page, expect

from tests.stack.browser.conftest import Doors, Visitor
from tests.stack.browser.looks import faults_of
from tests.stack.browser.shop import Shop
from tests.stack.running import RunningStack

SLOW_SERVER = """() => {
  const real = window.fetch;
  const pause = () => new Promise((done) => setTimeout(done, 300));
  window.fetch = (...given) => pause().then(() => real(...given));
}"""

# Requests of the sheet wait in `window.held`, in their order, until `let_go` sends them.
HELD = """() => {
  const real = window.fetch;
  window.held = [];
  window.fetch = (url, ...more) => String(url).includes("/counts/sheets/")
    ? new Promise((go) => window.held.push(go)).then(() => real(url, ...more))
    : real(url, ...more);
}"""


def let_go(page: Page, waiting: int) -> None:
    """Send the first held request as soon as `waiting` are held."""
    page.wait_for_function("waiting => window.held.length === waiting", arg=waiting)
    page.evaluate("() => { window.held.shift()(); }")


def open_sheet(visitor: Visitor, shop: Shop) -> Page:
    """Return a new sheet at the shop's location, ready to scan."""
    page = visitor.open(f"/counts/?location={shop.location}")
    page.get_by_role("button", name="Start a sheet").click()
    page.wait_for_url("**/counts/sheets/*/")
    expect(page.get_by_label("Scan or type a code")).to_be_focused()
    return page


def hand_in(page: Page) -> None:
    page.get_by_role("button", name="Hand the sheet in").click()
    expect(page.get_by_text("handed in. Another person has to approve")).to_be_visible()


def variances(page: Page) -> tuple[str, str]:
    """Return the newest count's variance at approval and its variance now."""
    row = page.locator("tr[data-count]").first
    return row.locator('[data-f="then"]').inner_text(), row.locator('[data-f="now"]').inner_text()


def test_a_late_sale_changes_the_shown_variance_and_not_the_stock(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    key = shop.range("MUG", 20)
    counter = open_sheet(doors.log_in("associate"), shop)
    counter.keyboard.type("MUG")
    counter.get_by_label("Units", exact=True).fill("19")
    counter.keyboard.press("Enter")
    hand_in(counter)
    manager = doors.log_in("manager").open(f"/counts/waiting/?location={shop.location}")
    expect(manager.locator('[data-f="variance"]')).to_have_text("−1")
    manager.get_by_role("button", name="Approve").click()
    expect(manager.get_by_text("Approved, variance −1")).to_be_visible()

    def shown(late_units: int) -> tuple[tuple[str, str], str]:
        """Return both variances and today's stock after the workers have folded `late_units`."""
        stack.wait_until(
            lambda: shop.sql(
                "SELECT 1 FROM read_model.stock WHERE inv_key = %s AND on_hand_units = 19"
                " AND (state::json->'stock'->>'sum_movements_units')::int = %s",
                key,
                -late_units,
            )
        )
        manager.goto(f"{doors.base}/counts/history/?location={shop.location}&sku=MUG")
        both = variances(manager)
        manager.goto(f"{doors.base}/?location={shop.location}")
        return both, manager.locator(f'[data-key="{key}"] [data-f="on_hand"]').inner_text()

    assert shown(late_units=0) == (("−1", "−1"), "19")
    shop.sell("MUG", 1, minutes_ago=60)
    assert shown(late_units=1) == (("−1", "0"), "19")
    shop.sql("DELETE FROM retail.sale_line WHERE inv_key = %s", key)
    assert shown(late_units=0) == (("−1", "−1"), "19")


def test_the_count_history_fits_a_desktop_in_english_and_german(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    shop.range("BAMBOO-BATHMAT-1004", 20)
    counter = doors.log_in("associate")
    for _ in range(2):  # the second count makes the first one void
        page = open_sheet(counter, shop)
        page.keyboard.type("BAMBOO-BATHMAT-1004\n")
        hand_in(page)

    manager = doors.log_in("manager")
    for language in ("en", "de"):
        manager.context.add_cookies(
            [{"name": "django_language", "value": language, "url": doors.base}]
        )
        seen = manager.open(f"/counts/history/?location={shop.location}")
        expect(seen.locator("tr[data-count]")).to_have_count(2)  # the opening, and the void one
        assert seen.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), language


def test_twelve_quick_scans_count_twelve_units(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    shop.range("MUG", 12)
    visitor = doors.log_in("associate")
    visitor.context.add_init_script(f"({SLOW_SERVER})()")
    page = open_sheet(visitor, shop)

    page.keyboard.type("MUG\n" * 12, delay=15)
    hand_in(page)  # waits for scans that aren't saved yet

    assert shop.sql(
        "SELECT units, status FROM retail.stock_count WHERE location = %s AND kind = 'cycle'",
        shop.location,
    ) == [(12, "draft")]


def test_a_sheet_is_submitted_if_a_scan_arrives_while_counted_units_load(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    shop.range("MUG", 12)
    visitor = doors.log_in("associate")
    visitor.context.add_init_script(f"({HELD})()")
    page = open_sheet(visitor, shop)

    page.keyboard.type("MUG\n")
    let_go(page, 1)  # the first scan; then the page requests the counted units
    page.wait_for_function("() => window.held.length === 1")
    page.keyboard.type("MUG\n")
    page.get_by_role("button", name="Hand the sheet in").click()
    let_go(page, 2)  # the counted units
    expect(page.locator('tr[data-sku="MUG"] .big')).to_have_text("1")
    let_go(page, 1)  # the second scan
    let_go(page, 1)  # the counted units after it

    expect(page.get_by_text("handed in. Another person has to approve")).to_be_visible()


def test_a_reload_and_a_lost_network_lose_no_scan(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    shop.range("MUG", 12)
    visitor = doors.log_in("associate")
    visitor.expected = ("ERR_FAILED",)
    page = open_sheet(visitor, shop)
    page.route("**/entries", lambda route: route.abort())
    page.keyboard.type("MUG\n" * 3, delay=15)
    expect(page.locator("#scan-state")).to_contain_text("3 entries are kept here")

    page.unroute("**/entries")
    page.reload()

    row = page.locator('tr[data-sku="MUG"] .big')
    expect(row).to_have_text("3")
    page.reload()
    expect(row).to_have_text("3")

    page.route("**/entries", lambda route: route.abort())
    page.get_by_label("Scan or type a code").click()
    page.keyboard.type("MUG\n")
    expect(page.locator("#scan-state")).to_contain_text("1 entry is kept here")
    shop.sql("UPDATE app.count_sheet SET submitted_at = now() WHERE location = %s", shop.location)
    visitor.expected = ("ERR_FAILED", "409")
    page.unroute("**/entries")  # the page sends the entry again, and loads the closed sheet

    expect(page.locator("form[data-late] li")).to_have_text("MUG × 1")
    page.goto(f"{doors.base}/counts/")
    page.locator("[data-kept-sheets] a").click()
    page.get_by_role("button", name="Remove these entries").click()
    page.reload()
    expect(page.locator("form[data-late]")).to_be_hidden()


def test_items_are_counted_with_one_scan_and_one_number_each(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    for sku in ("MUG", "LAMP", "RUG"):
        shop.range(sku, 12)
    page = open_sheet(doors.log_in("associate"), shop)
    page.get_by_label("Ask for the number of units").check()

    page.keyboard.type("MUG\n5\nLAMP\n0\nRUG\n7\nNOPE\n1\n", delay=15)

    expect(page.locator("#scan-refused")).to_contain_text("NOPE: not in the catalogue")
    hand_in(page)
    assert shop.sql(
        "SELECT sku, units FROM retail.stock_count WHERE location = %s AND status = 'draft'"
        " ORDER BY sku",
        shop.location,
    ) == [("LAMP", 0), ("MUG", 5), ("RUG", 7)]


def test_a_case_code_asks_for_cases_and_new_sheets_keep_the_units_prompt(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    shop.range("MUG", 12)
    shop.sql(
        "INSERT INTO retail.gtin (code, sku, pack_units) VALUES ('14006381333938', 'MUG', 6)"
        " ON CONFLICT DO NOTHING"
    )
    visitor = doors.log_in("associate")
    page = open_sheet(visitor, shop)
    page.get_by_label("Ask for the number of units").check()

    page.keyboard.type("14006381333938\n")
    expect(page.locator("#scan-state")).to_contain_text("a case of 6. How many cases?")
    page.get_by_label("Cases of 6").fill("2")
    page.keyboard.press("Enter")

    expect(page.locator("#scan-log li").first).to_contain_text("MUG × 12 (2 × 6)")
    expect(page.locator("#scan-log li").first).to_contain_text("Item MUG")
    expect(page.get_by_label("Units", exact=True)).to_have_value("")
    page.keyboard.type("NOPE\n1\n")
    expect(page.locator("#scan-refused")).to_contain_text("NOPE: not in the catalogue")
    page.locator("#scan-refused").get_by_role("button", name="Close").click()
    expect(page.locator("#scan-refused")).to_be_hidden()
    page = open_sheet(visitor, shop)
    expect(page.get_by_label("Ask for the number of units")).to_be_checked()


def test_the_first_scan_replaces_the_prefilled_item_of_a_recount(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    shop.range("MUG", 12)
    shop.range("LAMP", 12)
    visitor = doors.log_in("associate")
    visitor.expected = ("422",)
    page = open_sheet(visitor, shop)
    page.goto(f"{page.url}?sku=MUG")
    field = page.get_by_label("Scan or type a code")
    expect(field).to_be_focused()
    page.wait_for_function("() => document.activeElement.selectionEnd === 3")
    assert field.evaluate("field => field.selectionStart") == 0

    page.get_by_role("button", name="Hand the sheet in").click()
    expect(page.get_by_text("Nothing was counted on this sheet yet")).to_be_visible()
    page.get_by_label("Scan or type a code").click()
    page.keyboard.type("LAMP\n")

    expect(page.locator('tr[data-sku="LAMP"] .big')).to_have_text("1")
    expect(page.get_by_text("Nothing was counted on this sheet yet")).to_be_hidden()


@pytest.fixture
def furnished(stack: RunningStack, doors: Doors, shop: Shop) -> tuple[Page, list[str]]:
    """Return a manager's window, and the addresses of pages with content."""
    shop.range("MUG", 40)
    shop.range("LAMP", 12)
    counter = open_sheet(doors.log_in("associate"), shop)
    counter.keyboard.type("MUG\nLAMP\n", delay=15)
    hand_in(counter)
    manager = doors.log_in("manager")
    page = open_sheet(manager, shop)
    sheet = page.url.removeprefix(doors.base)
    page.keyboard.type("MUG\nNOPE\n", delay=15)
    expect(page.locator('tr[data-sku="MUG"]')).to_be_visible()
    other = f"DC-{shop.location[-8:]}"
    Shop(shop.url, other, "Centre").range("MUG", 40)
    page.goto(f"{doors.base}/transfers/?location={shop.location}&sku=MUG&units=6")
    page.get_by_label("From").select_option(other)
    page.get_by_role("button", name="Send the units now").click()
    expect(page.get_by_text("Sent 6 units of")).to_be_visible()
    return (
        page,
        [
            f"/counts/?location={shop.location}",
            sheet,
            f"/counts/waiting/?location={shop.location}",
            f"/counts/history/?location={shop.location}",
            f"/counts/adjust/?location={shop.location}&sku=MUG",
            f"/transfers/?location={shop.location}&sku=MUG",
        ],
    )


def test_the_desks_of_a_store_are_accessible_and_fit_a_phone(
    doors: Doors, furnished: tuple[Page, list[str]]
) -> None:
    page, paths = furnished
    faults: list[str] = []

    for path in paths:
        page.goto(doors.base + path)
        faults += faults_of(page)

    assert faults == []

"""Narrow screens: a header of one row for every role, a bar at the bottom, no cut-off text."""

import pytest
from playwright.sync_api import expect

from bench.retailer.catalogue import suppliers
from tests.stack.browser.conftest import Doors
from tests.stack.browser.shop import Shop
from tests.stack.browser.test_orders import approved_order, needs
from tests.stack.running import RunningStack

PHONE = {"width": 390, "height": 844}
TABLET = {"width": 768, "height": 1024}
# The number of rows of the header: different heights of its visible parts.
ROWS = """() => new Set([...document.querySelectorAll("header.top :is(a, button, .pill)")]
    .filter(e => e.checkVisibility()).map(e => {
      const box = e.getBoundingClientRect();
      return Math.round((box.top + box.bottom) / 2 / 20);
    })).size"""
# A word that is wider than a phone. Pages must break it, and must not cut it off.
LONG_WORD = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen"
STANDING_OUT = """() => [...document.querySelectorAll("h1, h2, h3, td, th, dd, p, summary")]
    .filter(e => e.checkVisibility() && !e.closest(".scroll"))
    .filter(e => e.getBoundingClientRect().right > innerWidth + 1
      || e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline")
    .map(e => e.textContent)"""
# Numbers in table cells whose digits are on more than one line.
CUT_NUMBERS = """() => [...document.querySelectorAll("td.n")].filter(e => e.checkVisibility())
    .filter(e => !e.firstElementChild && /^[−+0-9.,]+$/.test(e.textContent.trim()))
    .filter(e => { const range = document.createRange(); range.selectNodeContents(e);
      return range.getClientRects().length > 1; })
    .map(e => e.textContent)"""
# Placeholders that are wider than their fields. An empty search field keeps space for its button.
CUT_PLACEHOLDERS = """() => [...document.querySelectorAll("input[placeholder]")]
    .filter(e => e.checkVisibility() && e.placeholder)
    .filter(e => { const style = getComputedStyle(e), pen = document.createElement("canvas");
      const text = Object.assign(pen.getContext("2d"), { font: style.font });
      const padding = parseFloat(style.paddingLeft) + parseFloat(style.paddingRight);
      const button = e.type === "search" ? 16 : 0;
      return text.measureText(e.placeholder).width > e.clientWidth - padding - button; })
    .map(e => e.placeholder)"""
# The controls of the page at whose centre a bar or a notice is, instead of the control.
COVERED = """() => [...document.querySelectorAll("main :is(a, button, input, select, summary)")]
    .filter(e => e.checkVisibility())
    .filter(e => { const box = e.getBoundingClientRect();
      const hit = document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
      const over = hit?.closest(e.closest(".pick-bar") ? ".bar, .toasts" : ".toasts");
      return over && !over.contains(e); })
    .map(e => e.textContent || e.name)"""
# Cells that are partly outside the window, or wider than the box around them.
CUT = """() => [...document.querySelectorAll("td, th")].filter(e => e.checkVisibility())
    .filter(e => e.getBoundingClientRect().right > innerWidth || e.scrollWidth > e.clientWidth + 1)
    .map(e => e.textContent)"""

HIGHEST_ROW = """() => Math.max(...[...document.querySelectorAll("tbody tr")]
    .map(e => e.getBoundingClientRect().height))"""
SUPPLIER = "INSERT INTO retail.supplier (code, name) VALUES (%s, %s) ON CONFLICT DO NOTHING"
SCORECARD = """INSERT INTO app.scorecard (supplier, location, on_day, receipts, settled_lines,
    due_receipts, mean_centidays, sd_centidays, p50_centidays, p90_centidays, fill_permille,
    on_time_permille, discrepancy_permille)
    VALUES (%s, %s, now()::date, 1240, 9, 9, 1234, 110, 1200, 1410, 987, 954, 123)"""


@pytest.mark.parametrize("role", ["manager", "lead", "pricing", "operator"])
def test_the_header_is_one_row_when_narrow_and_a_side_rail_when_wide(
    doors: Doors, role: str
) -> None:
    page = doors.log_in(role).open("/tasks/")
    header, main = page.locator("header.top"), page.locator("main")
    seen = {}

    for width in (320, 390, 768, 1024, 1199):
        page.set_viewport_size({"width": width, "height": 844})
        seen[width] = page.evaluate(ROWS)
    assert max(seen.values()) == 1, seen

    for width in (1200, 1280, 1920):
        page.set_viewport_size({"width": width, "height": 844})
        rail, beside = header.bounding_box(), main.bounding_box()
        assert rail is not None
        assert beside is not None
        assert rail["width"] <= 240
        assert beside["x"] >= rail["x"] + rail["width"]
        expect(header.get_by_role("button", name="Log out")).to_be_in_viewport()


def test_long_names_and_numbers_stay_whole_and_inside_on_a_phone(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    # Product names are shared by all shops of the stack, so use SKUs that no other test names.
    shop.range("LONG-1", 2, name=LONG_WORD, price_minor=123_456_789)
    shop.range("LONG-2", 90, name=LONG_WORD)
    shop.propose_price("LONG-2", old_minor=123_456_789, new_minor=98_765_432)
    stack.wait_until(
        lambda: (
            shop.shown(["LONG-1", "LONG-2"])
            and shop.sql("SELECT 1 FROM app.reorder_proposal WHERE location = %s", shop.location)
        )
    )
    page = doors.log_in("manager", viewport=PHONE).page
    at = f"location={shop.location}"
    seen = {}

    for path in (
        *(
            f"/?{at}",
            f"/items/{shop.location}/LONG-1",
            f"/counts/history/?{at}",
            "/system/workers/",
        ),
        *(f"/reorders/?{at}", f"/prices/?{at}", f"/prices/items/{shop.location}/LONG-1"),
    ):
        page.goto(doors.base + path)
        for width in (390, 320):
            page.set_viewport_size({"width": width, "height": 844})
            seen[path, width] = page.evaluate(STANDING_OUT) + page.evaluate(CUT_NUMBERS)

    assert {at: found for at, found in seen.items() if found} == {}


@pytest.mark.soak
def test_no_page_of_a_tablet_scrolls_sideways(doors: Doors, shop: Shop) -> None:
    shop.range("MUG", 42)
    page = doors.log_in("manager").page
    seen = {}

    for path in (
        *(f"/items/{shop.location}/MUG", "/", "/counts/", "/counts/waiting/", "/counts/history/"),
        *("/counts/adjust/", "/receiving/", "/transfers/", "/reorders/", "/orders/"),
        *("/suppliers/", "/suppliers/HOUSE/", "/prices/", "/tasks/?for=all", "/system/"),
        *("/find/?q=mug", "/scan/?q=MUG", f"/labels/?location={shop.location}&sku=MUG"),
    ):
        page.goto(doors.base + path)
        for width in (768, 1030, 1090):
            page.set_viewport_size({"width": width, "height": 844})
            seen[path, width] = page.evaluate("() => document.documentElement.scrollWidth")

    assert {at: wide for at, wide in seen.items() if wide > at[1]} == {}


def test_the_desk_menu_opens_by_keyboard_and_closes_by_escape(doors: Doors) -> None:
    page = doors.log_in("manager", viewport=TABLET).open("/")
    menu = page.get_by_role("button", name="Desks, you are at Stock")
    desks = page.get_by_role("navigation", name="Desks")
    expect(desks).to_be_hidden()

    menu.press("Enter")
    expect(desks).to_be_visible()
    page.keyboard.press("Tab")
    expect(desks.get_by_role("link", name="Home")).to_be_focused()
    page.keyboard.press("Escape")

    expect(desks).to_be_hidden()
    expect(menu).to_be_focused()
    menu.press("Enter")
    desks.get_by_role("link", name="Transfers").click()
    expect(page.get_by_role("heading", name="Transfers", level=1)).to_be_visible()


def test_the_bottom_bar_links_the_most_used_desks_and_a_button_opens_the_rest(doors: Doors) -> None:
    page = doors.log_in("associate", viewport=PHONE).open("/find/")
    bar = page.get_by_role("navigation", name="Most used")
    desks = page.get_by_role("navigation", name="Desks")

    expect(bar.get_by_role("link")).to_have_text(["Find", "Scan", "Count", "Receive"])
    expect(bar.get_by_role("link", name="Find")).to_have_attribute("aria-current", "page")
    bar.get_by_role("button", name="More").click()
    expect(desks.get_by_role("button", name="Log out")).to_be_in_viewport()
    desks.get_by_role("link", name="Transfers").click()
    expect(page.get_by_role("heading", name="Transfers", level=1)).to_be_visible()
    expect(bar).to_be_in_viewport(ratio=1)


def test_filters_fold_behind_one_button_on_a_phone(doors: Doors) -> None:
    page = doors.log_in("associate", viewport=PHONE).open("/?status=low")
    button = page.get_by_role("button", name="Filters (1)")

    expect(page.get_by_role("combobox", name="Status")).to_be_hidden()
    expect(page.get_by_role("searchbox")).to_be_visible()
    button.click()

    expect(page.get_by_role("combobox", name="Status")).to_be_visible()
    expect(button).to_have_attribute("aria-expanded", "true")
    page.set_viewport_size({"width": 1280, "height": 844})
    expect(button).to_be_hidden()
    expect(page.get_by_role("combobox", name="Status")).to_be_visible()


def test_supplier_names_are_not_cut_off_and_rows_are_low_on_a_small_desktop(
    doors: Doors, shop: Shop
) -> None:
    shop.name = "Distribution centre north"
    shop.range("MUG", 2)
    for code, supplier in suppliers(1).items():
        shop.sql(SUPPLIER, code, supplier.name)
        shop.sql(SCORECARD, code, shop.location)
    visitor = doors.log_in("buyer", viewport={"width": 1280, "height": 900})

    for language in ("en", "de"):
        visitor.context.add_cookies(
            [{"name": "django_language", "value": language, "url": doors.base}]
        )
        page = visitor.open(f"/suppliers/?location={shop.location}")
        expect(page.locator("tbody tr")).to_have_count(len(suppliers(1)))
        assert page.evaluate(CUT) == []
        assert page.evaluate(HIGHEST_ROW) <= 40
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 1280


@pytest.mark.parametrize("language", ["en", "de"])
def test_placeholders_stay_whole_on_a_phone(doors: Doors, language: str) -> None:
    visitor = doors.log_in("manager", viewport=PHONE)
    visitor.context.add_cookies([{"name": "django_language", "value": language, "url": doors.base}])
    cut = {}

    for path in ("/", "/find/", "/scan/", "/receiving/", "/orders/", "/prices/"):
        page = visitor.open(path)
        cut[path] = page.evaluate(CUT_PLACEHOLDERS)

    assert {path: found for path, found in cut.items() if found} == {}


def test_a_purchase_order_shows_every_column_on_a_phone_and_on_paper(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    ref, _page = approved_order(stack, doors, shop, "MUG", "LAMP-WITH-A-RATHER-LONG-SKU-0001")
    buyer = doors.log_in("buyer", viewport=PHONE)

    for width in (390, 320):
        buyer.page.set_viewport_size({"width": width, "height": 844})
        page = buyer.open(f"/orders/document?ref={ref}")
        expect(page.get_by_text("Item MUG")).to_be_visible()
        assert page.evaluate(CUT) == []
    # A4 less two margins of 15 mm, at 96 pixels an inch.
    buyer.page.set_viewport_size({"width": 680, "height": 962})
    buyer.page.emulate_media(media="print")
    page = buyer.open(f"/orders/document?ref={ref}")
    expect(page.get_by_role("columnheader", name="Unit cost")).to_be_visible()
    assert page.evaluate(CUT) == []


def test_no_bar_or_notice_covers_a_control(stack: RunningStack, doors: Doors, shop: Shop) -> None:
    for sku in ("MUG", "CUP"):
        shop.range(sku, 18)
    stack.wait_until(lambda: len(needs(shop)) == 2, describe=lambda: str(needs(shop)))
    page = doors.log_in("buyer", viewport=PHONE).open(f"/reorders/?location={shop.location}")

    # So low that the list reaches below the window, and the bar of picked needs is at its edge.
    page.set_viewport_size({"width": 390, "height": 480})
    page.locator("[data-pick-section]").first.check()
    expect(page.get_by_role("button", name="Approve and send")).to_be_visible()
    covered = {"picked": page.evaluate(COVERED)}
    page.locator("button[name=one]").first.click()
    expect(page.locator(".toasts .notice")).to_contain_text("Ordered")
    for width, height in ((390, 844), (1280, 900)):
        page.set_viewport_size({"width": width, "height": height})
        # The notice may cover controls of a scrolled page, as the header does. Scroll to the top.
        page.evaluate("scrollTo({top: 0, behavior: 'instant'})")
        covered[f"notice, {width}"] = page.evaluate(COVERED)
    page.goto(f"{doors.base}/orders/?view=draft&location={shop.location}")
    page.get_by_label("Pick all on this page").check()
    expect(page.locator("[data-picked]")).to_contain_text("1 picked")
    page.set_viewport_size({"width": 390, "height": 844})
    covered["orders"] = page.evaluate(COVERED)

    assert {at: found for at, found in covered.items() if found} == {}

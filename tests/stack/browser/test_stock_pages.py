import os
import re
from pathlib import Path
from urllib.parse import unquote

from playwright.sync_api import Locator, Page, expect

from deploy.stack.home import PROJECT
from tests.stack.browser.conftest import Doors
from tests.stack.browser.shop import Shop
from tests.stack.running import RunningStack

PICTURE = PROJECT / "docs" / "images" / "stock.png"


def cell(page: Page, key: str, name: str) -> Locator:
    return page.locator(f'[data-key="{key}"] [data-f="{name}"]')


def units(text: str) -> int:
    return int(text.replace("−", "-").replace("+", "").replace(",", "").split()[0])


def test_a_sale_by_sql_changes_the_open_page_without_a_reload(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    key = shop.range("MUG", 42)
    stack.wait_until(lambda: shop.shown(["MUG"]))
    page = doors.log_in("associate").open(f"/?location={shop.location}")
    expect(page.locator("#pill")).to_have_attribute("data-state", "live")
    expect(cell(page, key, "on_hand")).to_have_text("42")
    page.evaluate("() => { window.neverReloaded = true; }")

    shop.sell("MUG", 23)

    expect(cell(page, key, "on_hand")).to_have_text("19")
    expect(cell(page, key, "available")).to_have_text("19")
    expect(cell(page, key, "status")).to_have_text("Low")
    assert page.evaluate("() => window.neverReloaded") is True


def test_paused_updates_wait_until_they_are_resumed(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    key = shop.range("MUG", 42)
    stack.wait_until(lambda: shop.shown(["MUG"]))
    page = doors.log_in("associate").open(f"/?location={shop.location}")
    watching = doors.log_in("associate").open(f"/?location={shop.location}")
    expect(page.locator("#pill")).to_have_attribute("data-state", "live")
    page.get_by_role("button", name="Pause").click()

    shop.sell("MUG", 2)
    expect(cell(watching, key, "on_hand")).to_have_text("40")

    expect(cell(page, key, "on_hand")).to_have_text("42")
    page.get_by_role("button", name="Resume").click()
    expect(cell(page, key, "on_hand")).to_have_text("40")


def test_the_item_page_explains_on_hand_fact_by_fact(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    key = shop.range("LAMP", 30)
    shop.sell("LAMP", 4, minutes_ago=90)
    shop.sell("LAMP", 3, minutes_ago=5)
    shop.sell("LAMP", 6, minutes_ago=180)  # before the count: only its variance changes
    stack.wait_until(
        lambda: shop.sql(
            "SELECT 1 FROM read_model.stock WHERE inv_key = %s AND on_hand_units = 23"
            " AND (state::json->'stock'->>'sum_movements_units')::int = -13",
            key,
        )
    )

    page = doors.log_in("associate").open(f"/items/{shop.location}/LAMP")
    rows = page.locator("table.facts tbody tr:not(.opening, .total)")
    running = [units(text) for text in rows.locator("td.sum").all_inner_texts()]
    deltas = [units(text) for text in rows.locator("td.n:not(.sum)").all_inner_texts()]
    assert running == [23, 26, 30, -6]
    assert deltas == [-3, -4, 36, -6]
    expect(page.locator("#facts-total")).to_have_text("23")
    expect(cell(page, key, "on_hand")).to_have_text("23")
    expect(page.get_by_text("equals the number above")).to_be_visible()
    late = page.locator("table.facts tbody tr").filter(has_text="late: its window had closed")
    expect(late).to_have_count(2)

    page.get_by_role("link", name="Demand", exact=True).click()
    expect(page.locator("#sales-h + table tbody tr").first).to_contain_text("hour")

    page.get_by_role("link", name="Sources", exact=True).click()
    # If a worker answers too late, the page shows the read model. Reload until a worker answers.
    says = page.get_by_text(re.compile(r"worker-\d reports 23"))
    stack.wait_until(lambda: says.count() or page.reload() is None)
    command = f"inventory explain LAMP --location {shop.location}"
    arithmetic = page.get_by_role("region", name="The arithmetic, line by line")
    expect(arithmetic.get_by_text(command)).to_be_visible()
    expect(says).to_be_visible()
    explanation = page.locator("#explanation")
    expect(explanation.get_by_text("State from the worker")).to_be_visible()
    expect(explanation.locator("h3")).to_have_text(
        ["Stock", "Demand", "Levels", "Order quantity", "Price", "Need", "Where this comes from"]
    )
    expect(explanation.locator(".total").first).to_contain_text("23")


def test_the_chart_of_an_item_is_read_with_mouse_and_keyboard(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    key = shop.range("LAMP", 30)
    shop.sql(
        "INSERT INTO retail.sale_line (source, source_ref, inv_key, location, sku,"
        " quantity_units, amount_minor, occurred_at) VALUES ('till', %s, %s, %s, 'LAMP', 4, 4000,"
        " clock_timestamp() - interval '30 hours')",
        *(f"{key}-1", key, shop.location),
    )
    shop.sell("LAMP", 7)
    stack.wait_until(lambda: shop.shown(["LAMP"]))
    page = doors.log_in("buyer").open(f"/items/{shop.location}/LAMP")
    chart = page.get_by_role("slider", name="On hand by day")
    readout = page.locator("figure .readout")

    # The chart's last day has the same number as the page.
    expect(readout).to_contain_text("On hand 23")
    expect(chart.locator("canvas")).to_be_visible()

    chart.focus()
    page.keyboard.press("Home")
    expect(chart).to_have_attribute("aria-valuenow", "0")
    expect(readout).to_contain_text("sales \N{MINUS SIGN}4")
    page.keyboard.press("End")
    expect(readout).to_contain_text("On hand 23")
    box = chart.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 60, box["y"] + 100)
    expect(readout).to_contain_text("sales \N{MINUS SIGN}4")

    page.get_by_text("As a table").click()
    twin = page.get_by_role("table", name="On hand by day")
    expect(twin.get_by_role("row").last).to_contain_text("23")


def test_deleting_a_late_sale_from_before_the_count_brings_the_variance_back(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    key = shop.range("RUG", 30)
    shop.sell("RUG", 3, minutes_ago=5)
    page = doors.log_in("associate").page
    address = f"{doors.base}/items/{shop.location}/RUG"

    def facts(moved: int) -> tuple[list[int], list[int]]:
        """Return the page's changes and running sums once the state's movements sum to `moved`."""
        stack.wait_until(
            lambda: shop.sql(
                "SELECT 1 FROM read_model.stock WHERE inv_key = %s AND on_hand_units = 27"
                " AND (state::json->'stock'->>'sum_movements_units')::int = %s",
                *(key, moved),
            )
        )
        page.goto(address)
        # The page has the newest first.
        rows = page.locator("table.facts tbody tr:not(.opening, .total)")
        deltas = rows.locator("td.n:not(.sum)").all_inner_texts()[::-1]
        sums = rows.locator("td.sum").all_inner_texts()[::-1]
        return list(map(units, deltas)), list(map(units, sums))

    before = facts(-3)
    shop.sell("RUG", 6, minutes_ago=180)
    with_late = facts(-9)
    shop.sql("DELETE FROM retail.sale_line WHERE inv_key = %s AND quantity_units = 6", key)
    after = facts(-3)

    assert before == ([30, -3], [30, 27])
    assert with_late == ([-6, 36, -3], [-6, 30, 27])
    assert after == before


def test_the_page_of_an_unknown_item_shows_zero_and_a_search_link(doors: Doors, shop: Shop) -> None:
    visitor = doors.log_in("associate")
    visitor.expected = ("404",)

    page = visitor.open(f"/items/{shop.location}/NOTHING")

    expect(page.get_by_role("heading", name="On hand 0")).to_be_visible()
    expect(page.get_by_role("link", name="Search for it elsewhere")).to_be_visible()


def test_search_updates_while_typing_and_keeps_its_filters_in_the_url(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    end = shop.location[-4:]
    names = {f"A-{end}": "Blue Kettle", f"B-{end}": "Red Kettle", f"C-{end}": "Red Chair"}
    for sku, name in names.items():
        shop.range(sku, 30, name=name)
    stack.wait_until(lambda: shop.shown(list(names)))
    page = doors.log_in("associate").open(f"/?location={shop.location}")
    rows = page.locator("tr[data-key]")
    expect(rows).to_have_count(3)

    page.get_by_role("searchbox").press_sequentially("red kettle")

    expect(rows).to_have_count(1)
    expect(page).to_have_url(f"{doors.base}/?q=red+kettle&location={shop.location}")
    page.get_by_role("link", name="Search: red kettle").click()
    expect(rows).to_have_count(3)
    page.reload()
    expect(page.get_by_role("link", name=f"Location: {shop.location.title()}")).to_be_visible()


def test_find_tolerates_typos_and_shows_the_own_store_first_on_a_phone(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    sku = f"K-{shop.location[-4:]}"
    key = shop.range(sku, 30, name=f"Steel bucket {shop.location[-4:]}")
    stack.wait_until(lambda: shop.shown([sku]))
    visitor = doors.log_in("associate", viewport={"width": 390, "height": 844})
    page = visitor.open(f"/find/?location={shop.location}")

    page.get_by_role("searchbox").press_sequentially(f"steal buckte {shop.location[-4:]}")

    card = page.locator("article.found")
    expect(card).to_have_count(1)
    box = card.bounding_box()
    assert box is not None
    assert box["y"] <= 250
    field = page.get_by_role("searchbox").bounding_box()
    assert field is not None
    assert field["y"] < box["y"]  # the search form is above the list, not in the bottom bar
    expect(cell(page, key, "available")).to_have_text("30")
    expect(page.locator("#pill")).to_have_attribute("data-state", "live")
    shop.sell(sku, 3)
    expect(cell(page, key, "available")).to_have_text("27")
    page.goto(f"{doors.base}/find/")
    expect(page.get_by_role("link", name="Steel bucket")).to_be_visible()


def test_scan_takes_one_code_after_the_other(stack: RunningStack, doors: Doors, shop: Shop) -> None:
    end = shop.location[-4:]
    for sku in (f"P-{end}", f"Q-{end}"):
        shop.range(sku, 30)
    stack.wait_until(lambda: shop.shown([f"P-{end}", f"Q-{end}"]))
    page = doors.log_in("associate").open(f"/scan/?location={shop.location}")
    card = page.locator("article.found")

    for sku in (f"P-{end}", f"q-{end}"):
        page.keyboard.type(sku)
        page.keyboard.press("Enter")
        expect(card).to_have_attribute("data-sku", sku.upper())
    page.keyboard.type("nothing")
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name="nothing isn")).to_be_visible()


def test_the_stock_list_sorts_by_heading_and_pages_forward_and_back(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    skus = [f"N-{number:02}" for number in range(52)]
    for sku in skus:
        shop.range(sku, 30)
    stack.wait_until(lambda: shop.shown(skus))
    page = doors.log_in("associate", viewport={"width": 1280, "height": 900}).open(
        f"/?location={shop.location}"
    )
    rows = page.locator("tr[data-key]")
    expect(rows).to_have_count(50)
    inside = "rows => rows.filter(row => row.getBoundingClientRect().bottom <= 900).length"
    assert rows.evaluate_all(inside) >= 18

    page.get_by_role("link", name="On hand", exact=True).click()
    expect(page.get_by_role("columnheader", name="On hand")).to_have_attribute(
        "aria-sort", "descending"
    )
    page.get_by_role("link", name="Next 50").click()
    expect(rows).to_have_count(2)
    page.get_by_role("link", name="Previous 50").click()
    expect(rows).to_have_count(50)


def test_html_in_product_names_is_shown_as_text_and_never_run(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    name = "<img src=x onerror=alert(1)>\"'{{7*7}}"
    sku = f"X&<b>-{shop.location[-4:]}"
    shop.range(sku, 7, name=name)
    stack.wait_until(lambda: shop.shown([sku]))
    visitor = doors.log_in("associate")
    visitor.page.on("dialog", lambda dialog: visitor.problems.append(f"dialog {dialog.message}"))

    page = visitor.open(f"/?location={shop.location}")
    page.get_by_role("link", name=name).click()

    expect(page.get_by_role("heading", level=1)).to_contain_text(name)
    assert unquote(page.url) == f"{doors.base}/items/{shop.location}/{sku}"


def test_the_readme_screenshot_of_the_stock_page_can_be_taken(
    stack: RunningStack, doors: Doors, shop: Shop, tmp_path: Path
) -> None:
    shelf = {
        "KET-104": ("Copper Kettle 1.2 l", 34, 4499),
        "LAM-220": ("Desk Lamp green", 12, 3850),
        "MUG-301": ("Stoneware Mug", 58, 999),
        "PAN-118": ("Cast Iron Pan 24 cm", 3, 5499),
        "RUG-507": ("Wool Rug sand", 0, 18900),
        "TOW-033": ("Bath Towel blue", 71, 1299),
        "VAS-090": ("Glass Vase tall", 27, 2150),
    }
    shop.location, shop.name = f"LEEDS-{shop.location[-3:]}", "Leeds"
    for sku, (name, on_hand, price_minor) in shelf.items():
        shop.range(sku, on_hand, name=name, price_minor=price_minor)
    stack.wait_until(lambda: shop.shown(list(shelf)))
    visitor = doors.log_in("buyer", viewport={"width": 1280, "height": 720})
    page = visitor.open(f"/?location={shop.location}")
    expect(page.locator("tr[data-key]")).to_have_count(len(shelf))
    expect(page.locator("#pill")).to_have_attribute("data-state", "live")

    # Write the picture of the repository only if the variable requests it.
    wanted = os.environ.get("INVENTORY_UPDATE_PICTURES") == "1"
    path = PICTURE if wanted else tmp_path / "stock.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=path)

    assert path.stat().st_size > 10_000

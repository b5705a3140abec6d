"""While a person types, updates, answers and refusals don't move the parts of the page."""

from collections.abc import Callable

from playwright.sync_api import Page, Request, Route, expect

from tests.stack.browser.conftest import DEADLINE_MS, Doors
from tests.stack.browser.shop import Shop
from tests.stack.browser.test_desks import card, details, proposal_of
from tests.stack.running import RunningStack


def hold(page: Page, url: str, *, wanted: Callable[[Request], bool]) -> list[Route]:
    """Hold back `fetch` requests to `url` for which `wanted` is true. Return the waiting routes."""
    waiting: list[Route] = []

    def take(route: Route) -> None:
        if route.request.resource_type == "fetch" and wanted(route.request):
            waiting.append(route)
        else:
            route.continue_()

    page.route(url, take)
    return waiting


def until(page: Page, waiting: list[Route]) -> None:
    """Let the page run until `waiting` has a request; fail after `DEADLINE_MS`."""
    for _ in range(DEADLINE_MS // 100):
        if waiting:
            return
        page.evaluate("() => new Promise(requestAnimationFrame)")
        page.wait_for_timeout(100)
    message = "the page asked for nothing"
    raise AssertionError(message)


def test_an_update_during_typing_waits_behind_a_button(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    shop.range("MUG", 18)
    proposal = proposal_of(stack, shop)
    page = doors.log_in("buyer").open(f"/reorders/?location={shop.location}")
    waiting = hold(page, "**/reorders/?location=*", wanted=lambda _: True)
    shop.sell("MUG", 6)  # amends the need, so the page fetches its new content
    until(page, waiting)

    mine = details(page, proposal)
    mine.locator("summary", has_text="Reject").click()
    mine.get_by_label("Reason").fill("delisted next week")
    with page.expect_response("**/reorders/?location=*"):
        waiting[0].continue_()

    expect(page.get_by_role("button", name="Proposals have changed")).to_be_visible()
    expect(mine.get_by_label("Reason")).to_have_value("delisted next week")


def test_a_paused_desk_shows_changes_only_after_resume(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    shop.range("MUG", 18)
    proposal = proposal_of(stack, shop)
    page = doors.log_in("buyer").open(f"/reorders/?location={shop.location}")
    ask = card(page, proposal).locator(".ask")
    page.get_by_role("button", name="Pause").click()

    shop.sell("MUG", 6)

    changed = page.get_by_role("button", name="Proposals have changed")
    expect(changed).to_be_visible()
    expect(ask).to_contain_text("42")
    page.get_by_role("button", name="Resume").click()
    expect(ask).to_contain_text("48")
    expect(changed).to_be_hidden()


def test_a_response_to_an_earlier_search_is_not_shown(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    shop.range("MUG", 42)
    shop.range("LAMP", 42)
    stack.wait_until(lambda: shop.shown(["MUG", "LAMP"]))
    page = doors.log_in("associate").open(f"/?location={shop.location}")
    waiting = hold(page, "**/?*", wanted=lambda request: "q=MUG" in request.url)
    search = page.get_by_role("searchbox")
    search.fill("MUG")
    until(page, waiting)
    search.fill("LAMP")
    rows = page.locator("tr[data-key]")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("LAMP")

    with page.expect_response("**/?*q=MUG*"):
        waiting[0].continue_()

    page.evaluate("() => new Promise(done => setTimeout(done))")
    expect(rows).to_contain_text("LAMP")
    assert "q=LAMP" in page.url


def test_a_refused_form_shows_why_and_can_be_reloaded(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    key = shop.range("MUG", 42)
    stack.wait_until(lambda: shop.shown(["MUG"]))
    visitor = doors.log_in("buyer")
    visitor.expected = ("422",)
    page = visitor.open(f"/items/{shop.location}/MUG?tab=policy")
    page.locator("#policy summary").click()
    page.locator("#policy [name=auto_max]").fill("1,00")

    page.get_by_role("button", name="Save").click()

    expect(page.get_by_role("alert")).to_be_in_viewport()
    expect(page.get_by_role("alert")).to_contain_text("Automatic limit: an amount")
    expect(page.locator("#policy [name=auto_max]")).to_have_value("1,00")
    expect(page).to_have_url(f"{doors.base}/items/{shop.location}/MUG?tab=policy")
    with page.expect_request(page.url) as asked:
        page.evaluate("() => location.reload()")
    assert asked.value.method == "GET"
    expect(page.get_by_role("alert")).to_have_count(0)
    assert shop.sql("SELECT auto_max_minor FROM retail.item_location WHERE inv_key = %s", key) == [
        (0,)
    ]

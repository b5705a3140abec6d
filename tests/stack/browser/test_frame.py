"""The frame of a page: the keyboard map, messages, and a device without a network."""

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Request, Route, expect

from deploy.stack.home import PROJECT
from tests.stack.browser.conftest import Doors
from tests.stack.browser.looks import faults_of
from tests.stack.browser.shop import Shop
from tests.stack.browser.test_phone import PHONE
from tests.stack.running import RunningStack

KEPT = "caches.match('/kept-list').then(list => Boolean(list))"
ACTIVE = "navigator.serviceWorker.ready.then(() => navigator.serviceWorker.controller !== null)"
# Bytes that the page and its files took from the network, compressed and with headers.
RECEIVED = """performance.getEntries()
    .reduce((sum, one) => sum + (one.transferSize ?? 0), 0)"""
ONE_FORM = """<!DOCTYPE html><title>Form</title><body>
<form method="post" action="/act" data-once><button>Act</button></form>
<script type="module">import {startFrame} from "/frame.js"; startFrame();</script>"""
TWO_CLICKS_AND_A_STOP = """() => {
    for (const _click of [1, 2]) document.querySelector("button").click();
    setTimeout(() => window.stop(), 300);
}"""
MOST_REQUESTS, MOST_BYTES = 10, 120_000
# Requests that a page doesn't see: manifest, script of the service worker, offline page.
UNSEEN = 3


def test_the_question_mark_key_opens_the_keyboard_help_and_escape_closes_it(doors: Doors) -> None:
    visitor = doors.log_in("manager")
    visitor.page.clock.install()
    page = visitor.open("/tasks/")
    keys = page.get_by_role("dialog", name="Keyboard")

    page.keyboard.press("?")
    expect(keys).to_be_visible()
    assert faults_of(page) == []
    page.set_viewport_size({"width": 1280, "height": 844})
    # While the dialog is open, the page's keys have no effect.
    page.keyboard.press("g")
    page.keyboard.press("s")
    expect(keys).to_be_visible()
    page.keyboard.press("Escape")
    expect(keys).to_be_hidden()

    # The second key must follow within 1.5 s. Stop the page's clock: the machine may be slow.
    page.clock.pause_at(page.evaluate("() => Date.now() + 1_000"))
    page.keyboard.press("g")
    page.keyboard.press("s")
    expect(page.get_by_role("heading", name="Stock", level=1)).to_be_visible()


def test_a_form_whose_request_was_stopped_can_be_sent_again(chromium: Browser) -> None:
    """Needs no stack: the request gets no answer, as from a slow server, so the page stays."""
    script = (PROJECT / "webui/static/js/frame.js").read_text("utf-8")
    assert script.count("AGAIN_MS = 10_000") == 1
    script = script.replace("AGAIN_MS = 10_000", "AGAIN_MS = 500")
    sent: list[Request] = []

    def answer(route: Route) -> None:
        if route.request.method == "POST":
            sent.append(route.request)
        elif route.request.url.endswith(".js"):
            route.fulfill(body=script, content_type="text/javascript")
        else:
            route.fulfill(body=ONE_FORM, content_type="text/html")

    page = chromium.new_page()
    page.route("**/*", answer)
    page.goto("http://127.0.0.1:9/")
    for sendings in (1, 2):
        page.evaluate(TWO_CLICKS_AND_A_STOP)
        expect(page.locator("form[aria-busy]")).to_have_count(0)
        assert len(sent) == sendings
    page.close()


def test_a_switch_turns_single_keys_off_on_this_device(doors: Doors) -> None:
    page = doors.log_in("manager").open("/tasks/")
    page.get_by_role("button", name="Keyboard").click()
    page.get_by_label("Single-key shortcuts on this device").uncheck()
    page.keyboard.press("Escape")

    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_hidden()
    page.reload()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_have_count(0)

    page.get_by_role("button", name="Keyboard").click()
    page.get_by_label("Single-key shortcuts on this device").check()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()


def test_a_filter_chosen_by_arrow_keys_applies_when_it_loses_focus(
    doors: Doors, shop: Shop
) -> None:
    shop.range("MUG", 42)
    page = doors.log_in("manager").open("/home/")
    page.get_by_role("combobox", name="Store").focus()

    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")  # to the button of the form, then out of the form
    assert "location=" not in page.url
    page.keyboard.press("Tab")
    page.wait_for_url("**location=*")


def test_a_device_without_a_network_shows_the_last_list_with_its_age(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    shop.range("MUG", 42)
    stack.wait_until(lambda: shop.shown(["MUG"]))
    visitor = doors.log_in("associate", viewport=PHONE, service_workers="allow")
    visitor.expected = ("ERR_INTERNET_DISCONNECTED",)
    page = visitor.open("/")
    page.wait_for_function(f"() => {ACTIVE}")
    visitor.open(f"/?location={shop.location}")
    page.wait_for_function(f"() => {KEPT}")

    visitor.context.set_offline(True)
    visitor.open("/")
    expect(page.get_by_text("No connection. This is your last list")).to_be_visible()
    expect(page.locator(f'[data-key="{shop.key("MUG")}"] [data-f="on_hand"]')).to_have_text("42")
    expect(page.locator("#pill")).to_have_attribute("data-state", "offline")
    assert faults_of(page) == []
    visitor.open("/tasks/")
    expect(page.get_by_role("heading", name="No connection")).to_be_visible()
    expect(page.get_by_role("link", name="Show the last stock list")).to_be_visible()

    visitor.context.set_offline(False)
    expect(page.get_by_role("heading", name="Tasks", level=1)).to_be_visible()


def test_logout_deletes_the_offline_stock_list_from_the_device(doors: Doors) -> None:
    visitor = doors.enter(service_workers="allow")
    people = doors.people
    visitor.log_in("associate", people.password)
    page = visitor.page
    page.wait_for_function(f"() => {ACTIVE}")
    visitor.open("/")
    page.wait_for_function(f"() => {KEPT}")

    page.get_by_role("button", name="Log out").click()

    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    page.wait_for_function(f"() => {KEPT}.then(kept => !kept)")


@pytest.mark.parametrize(
    ("role", "addresses"),
    [
        ("associate", ["/", "/find/", "/scan/", "/counts/", "/receiving/"]),
        ("buyer", ["/", "/reorders/", "/orders/", "/prices/", "/items/{location}/LAMP"]),
    ],
)
def test_the_first_load_of_a_page_takes_few_requests_and_bytes(
    stack: RunningStack, doors: Doors, shop: Shop, role: str, addresses: list[str]
) -> None:
    shop.range("LAMP", 30)
    shop.sell("LAMP", 4, minutes_ago=30 * 60)
    stack.wait_until(lambda: shop.shown(["LAMP"]))
    doors.log_in(role)  # later windows share this session
    for address in addresses:
        visitor = doors.log_in(role)
        asked = set[str]()

        def ask(request: Request, asked: set[str] = asked) -> None:
            # Polls of an open page repeat an address.
            if urlsplit(request.url).scheme != "data":
                asked.add(urlsplit(request.url).path)

        visitor.page.on("request", ask)
        page = visitor.open(address.format(location=shop.location))
        expect(page.locator("#pill")).to_have_attribute("data-state", "live")
        if "/items/" in address:
            expect(page.locator("figure canvas")).to_be_visible()

        assert len(asked) + UNSEEN <= MOST_REQUESTS, sorted(asked)
        assert page.evaluate(RECEIVED) <= MOST_BYTES

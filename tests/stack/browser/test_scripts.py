"""Scripts of pages in states that a server rarely causes. These tests need no stack."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from deploy.stack.home import PROJECT

SCRIPTS = PROJECT / "webui/static/js"
BASE = "http://127.0.0.1:9"
PAGE = """<!DOCTYPE html><html lang="en"><title>Page</title><body data-live="/live/stream">
<span id="pill"></span><button id="pause" hidden></button>
<button data-change="ann" hidden></button><button data-keys hidden>Keyboard</button>
<template id="keys-map"></template><main id="main">{}</main><p id="polite"></p>
<script type="module" src="/js/app.js"></script>"""
SHEET = """<form method="post" action="/entries" data-scan="1" data-ask="/code">
<input type="hidden" name="csrfmiddlewaretoken"><input name="sku">
<span data-units-label>Units</span><input name="units" value="1">
<button>Add</button><input type="checkbox" id="scan-ask"></form><p id="scan-state"></p>
<div id="scan-refused" hidden><button data-close-refused></button></div>
<ol id="scan-log"></ol><div id="tallies"></div><details class="many"></details>
<form method="post" action="/submit" data-once data-scan-end><button>Hand in</button></form>"""
FIND = """<form data-search="#results" data-search-on="submit" action="/">
<input type="search" name="q"></form><div id="results">{}</div>"""
NEEDS = """<button type="submit" form="bulk" disabled hidden></button><table>
<tr data-proposal="1" data-step="1" data-cost="1"><td>
<input type="checkbox" form="bulk" name="pick">
<input type="number" form="bulk" name="packs" value="5"></td><td data-money></td>
<td><button form="bulk" name="one">Approve</button></td></tr></table><p style="height: 300vh"></p>
<form method="post" action="/approve" id="bulk" data-picks><p data-picked></p>
<label data-below><input type="checkbox"><span></span></label></form>"""
DELIVERY = """<form data-delivery><p data-pick data-codes="{}" data-ask="/code">
<input data-pick-field disabled><span data-pick-said></span></p><p data-delivery-sum></p>
<table>""" + "".join(
    f"""<tr data-sku="MUG"><td><input name="expected-{row}" value="10"><input data-received>
    <input data-damaged></td></tr>"""
    for row in (1, 2)
)
AGE = 'retry: 100\n\nevent: age\ndata: {"age_ms": 0, "as_of": "12:00:00", "partitions": {}}\n\n'
HIDE = """hidden => {
Object.defineProperty(document, "hidden", { get: () => hidden, configurable: true });
document.dispatchEvent(new Event("visibilitychange")); }"""
READY = "() => document.querySelector('form[data-scan]').noValidate"
# Fill the storage of the browser, up to the last character.
FILL = """() => { localStorage.setItem("inventory-names", "");
for (const size of [1_000_000, 10_000, 100, 1]) for (let n = 0; ; n++)
  try { localStorage.setItem(`${size}-${n}`, "x".repeat(size)); } catch { break; } }"""
# Run the service worker's script with a cache of its own. Return functions of the script.
WORKER = """([source, names]) =>
new Function("self", "caches", "fetch", `${source}; return {${names}};`)"""


@dataclass
class Site:
    """A page with the real scripts. `answers` has the responses of other addresses, by path."""

    context: BrowserContext
    html: str = ""
    answers: dict[str, Callable[[Route], object]] = field(default_factory=dict)
    asked: list[tuple[str, str, str | None]] = field(default_factory=list)

    def answer(self, route: Route) -> None:
        request = route.request
        at = urlsplit(request.url)
        if at.path.startswith("/js/"):
            path = SCRIPTS / at.path.removeprefix("/js/")
            route.fulfill(body=path.read_text("utf-8"), content_type="text/javascript")
            return
        self.asked.append((request.method, at.path + at.query, request.post_data))
        if at.path in self.answers:
            self.answers[at.path](route)
        else:
            route.fulfill(body=PAGE.format(self.html), content_type="text/html")

    def open(self, html: str, *, stops_clock: bool = False) -> Page:
        self.html = html
        page = self.context.new_page()
        if stops_clock:
            page.clock.install()
        page.goto(BASE)
        return page

    def sent(self) -> list[str]:
        """Return the paths of all forms and batches that the page has sent."""
        return [path for method, path, _body in self.asked if method == "POST"]


@pytest.fixture
def site(chromium: Browser) -> Iterator[Site]:
    context = chromium.new_context(service_workers="block")
    opened = Site(context)
    opened.answers["/live/stream"] = lambda route: route.fulfill(
        body=AGE, content_type="text/event-stream"
    )
    context.route("**/*", opened.answer)
    yield opened
    context.close()


def as_json(content: object) -> Callable[[Route], object]:
    return lambda route: route.fulfill(body=json.dumps(content), content_type="application/json")


def refused_code(route: Route) -> None:
    """Refuse the entries of a batch whose code is NOPE."""
    batch: list[dict[str, Any]] = json.loads(route.request.post_data or "")["entries"]
    refused = [{"id": each["id"], "why": "not known."} for each in batch if each["sku"] == "NOPE"]
    as_json({"refused": refused})(route)


def type_codes(page: Page, *codes: str) -> None:
    page.locator("[name=sku]").focus()
    page.keyboard.type("".join(f"{code}\n" for code in codes))


def wait(page: Page, ms: int) -> None:
    """Let the stopped clock of the page run. Responses come in real time."""
    for _ in range(0, ms, 250):
        page.clock.run_for(250)
        page.wait_for_timeout(20)


@pytest.mark.parametrize("field", ["[name=pick]", "[name=packs]"])
def test_enter_in_a_field_of_a_list_orders_nothing(site: Site, field: str) -> None:
    page = site.open(NEEDS)
    expect(page.locator("[data-picked]")).to_have_text("Nothing picked")

    page.locator(field).press("Enter")
    page.evaluate("() => fetch(location.href).then((answer) => answer.status)")  # after a submit

    assert site.sent() == []


def test_the_mouse_wheel_changes_no_number(site: Site) -> None:
    page = site.open(NEEDS)
    field = page.locator("[name=packs]")
    expect(page.locator("[data-picked]")).to_have_text("Nothing picked")

    field.click()
    page.mouse.wheel(0, 100)

    page.wait_for_function("() => scrollY > 0")
    expect(field).to_have_value("5")


def test_damaged_units_complete_a_line_so_a_scan_goes_to_the_next_line(site: Site) -> None:
    page = site.open(DELIVERY)
    page.locator("[data-received]").first.fill("8")
    page.locator("[data-damaged]").first.fill("2")

    page.locator("[data-pick-field]").fill("MUG")
    page.locator("[data-pick-field]").press("Enter")

    expect(page.locator("[data-received]").last).to_have_value("1")
    expect(page.locator("[data-received]").first).to_have_value("8")


def test_a_scanned_code_of_a_later_order_page_is_reported_as_not_on_this_page(site: Site) -> None:
    page = site.open(DELIVERY.replace("data-pick ", "data-pick data-more "))

    page.locator("[data-pick-field]").fill("CUP")
    page.locator("[data-pick-field]").press("Enter")

    expect(page.locator("[data-pick-said]")).to_contain_text("CUP is not on this page.")


def test_a_sheet_with_a_refused_entry_is_not_handed_in(site: Site) -> None:
    site.answers["/entries"] = lambda route: route.abort()
    page = site.open(SHEET)
    type_codes(page, "MUG", "NOPE")
    page.get_by_role("button", name="Hand in").click()
    expect(page.locator("#scan-state")).to_contain_text("After that, the sheet is handed in.")

    site.answers["/entries"] = refused_code

    expect(page.locator("#scan-state")).to_contain_text("1 entry was not saved, so the sheet")
    expect(page.locator("#scan-refused")).to_contain_text("NOPE: not known.")
    assert "/submit" not in site.sent()
    page.get_by_role("button", name="Hand in").click()
    page.wait_for_url("**/submit")


def test_a_sheet_is_handed_in_with_the_entries_of_another_window(site: Site) -> None:
    site.answers["/entries"] = as_json({"refused": []})
    page = site.open(SHEET)
    page.wait_for_function(READY)
    # An unreadable entry must not stop the others, nor the script.
    page.evaluate(
        """() => { localStorage.setItem("inventory-scan-1-a", "{");
        const entry = { id: "b", sku: "CUP", units: 2, at: 0 };
        localStorage.setItem("inventory-scan-1-b", JSON.stringify(entry)); }"""
    )

    page.get_by_role("button", name="Hand in").click()
    page.wait_for_url("**/submit")

    assert site.sent() == ["/entries", "/submit"]
    page.goto(BASE)
    page.wait_for_function(READY)


@pytest.mark.parametrize("moved_ms", [-3_600_000, 10 * 365 * 86_400_000])
def test_a_clock_change_does_not_change_the_age_of_an_entry(site: Site, moved_ms: int) -> None:
    site.answers["/entries"] = lambda route: route.abort()
    page = site.open(SHEET)
    type_codes(page, "MUG")
    expect(page.locator("#scan-state")).to_contain_text("1 entry is kept here")
    page.evaluate("by => { const now = Date.now; Date.now = () => now() + by; }", moved_ms)

    site.answers["/entries"] = as_json({"refused": []})
    expect(page.locator("#scan-state")).to_have_text("1 saved.")

    _, _, body = [each for each in site.asked if each[1] == "/entries"][-1]
    assert 0 < json.loads(body or "")["entries"][0]["age_ms"] < 60_000


def test_a_full_storage_stops_no_script_and_warns_before_a_scan_is_lost(site: Site) -> None:
    site.answers["/entries"] = lambda route: route.abort()
    page = site.open(SHEET)
    page.evaluate(FILL)
    page.reload()
    expect(page.get_by_role("button", name="Keyboard")).to_be_visible()
    type_codes(page, "MUG")
    expect(page.locator("#scan-state")).to_contain_text("1 entry is kept here")

    with page.expect_event("dialog") as asked:
        page.once("dialog", lambda dialog: dialog.accept())
        page.reload()

    assert asked.value.type == "beforeunload"


def test_a_page_whose_session_ended_while_it_was_hidden_loads_again(site: Site) -> None:
    page = site.open("")
    expect(page.locator("#pill")).to_contain_text("Live")
    page.evaluate(HIDE, arg=True)
    site.answers["/live/stream"] = lambda route: route.fulfill(status=401, body="log in first")
    site.answers["/"] = lambda route: route.fulfill(body="Log in")

    page.evaluate(HIDE, arg=False)

    expect(page.locator("body")).to_have_text("Log in")


def test_a_page_stays_offline_while_the_server_refuses_its_stream(site: Site) -> None:
    site.answers["/live/stream"] = lambda route: route.fulfill(status=503, body="later")
    page = site.open("", stops_clock=True)
    wait(page, 5_000)
    expect(page.locator("#pill")).to_have_text("Offline")

    # The next attempts follow within 5 s each. The state must not change with them.
    page.evaluate(
        """() => { window.seen = []; const pill = document.getElementById("pill");
        const see = new MutationObserver(() => seen.push(pill.textContent));
        see.observe(pill, { childList: true }); }"""
    )
    wait(page, 10_000)
    assert page.evaluate("() => seen") == []


def test_a_failed_scan_leaves_no_earlier_item_on_the_page(site: Site) -> None:
    page = site.open(FIND.format("Another item"))
    expect(page.locator("#pill")).to_contain_text("Live")
    site.answers["/"] = lambda route: route.fulfill(status=503, body="Try again")

    page.locator("[name=q]").fill("MUG")
    page.locator("[name=q]").press("Enter")

    expect(page.locator("body")).to_have_text("Try again")
    assert page.url == f"{BASE}/?q=MUG"


def test_screen_readers_announce_only_the_newest_row_count(site: Site) -> None:
    rows = "<table><tr data-key='1'></tr>{}</table>"
    page = site.open(FIND.format(rows.format("<tr data-key='2'></tr>")), stops_clock=True)
    wait(page, 500)
    field = page.locator("[name=q]")
    field.press("Enter")
    wait(page, 500)
    expect(page.locator("#polite")).to_have_text("2 rows shown")

    site.html = FIND.format(rows.format(""))
    field.press("Enter")
    wait(page, 10_000)

    expect(page.locator("#polite")).to_have_text("1 row shown")


def test_the_service_worker_tolerates_full_storage_and_drops_misdated_lists(site: Site) -> None:
    page = site.open("")
    source = (SCRIPTS / "service-worker.js").read_text("utf-8")
    names = "file, lastList"

    assert page.evaluate(
        f"""async given => {{
        const full = {{ open: async () => ({{ put: async () => {{ throw new Error("full"); }},
          match: async () => undefined }}), match: async () => undefined }};
        const self = {{ addEventListener() {{}} }};
        const {{ file }} = ({WORKER})(given)(self, full, async () => new Response("new"));
        const answer = await file({{ request: "/static/app.js", waitUntil() {{}} }});
        const of = async (ageMs) => {{
          const headers = {{ "Kept-At": String(Date.now() - ageMs) }};
          const kept = {{ match: async () => new Response("list", {{ headers }}) }};
          return Boolean(await ({WORKER})(given)(self, kept, fetch).lastList());
        }};
        const hour = 3_600_000;
        return [await answer.text(), await of(1_000), await of(-hour), await of(13 * hour)];
        }}""",
        [source, names],
    ) == ["new", True, False, False]


def test_a_click_on_the_margin_of_a_dialog_leaves_it_open(site: Site) -> None:
    page = site.open(
        """<button data-dialog="note">Open</button>
        <dialog class="dialog" id="note" style="padding: 40px">Note</dialog>"""
    )
    dialog = page.locator("#note")
    expect(page.locator("#pill")).to_contain_text("Live")

    page.get_by_role("button", name="Open").click()
    dialog.click(position={"x": 10, "y": 10})
    expect(dialog).to_be_visible()
    page.mouse.click(1, 1)

    expect(dialog).to_be_hidden()


def test_a_camera_that_is_closed_before_its_first_picture_causes_no_error(site: Site) -> None:
    site.context.add_init_script(
        """window.BarcodeDetector = class { static getSupportedFormats = async () => ["ean_13"]; };
        navigator.mediaDevices.getUserMedia = async () => new MediaStream();"""
    )
    errors: list[str] = []
    page = site.open(
        """<form class="seek" data-person="ann"><input name="q">
        <button type="button" data-camera hidden>Camera</button></form>
        <dialog class="viewer"><video></video><p data-says></p><button data-close>Close</button>
        </dialog>"""
    )
    page.on("pageerror", lambda error: errors.append(str(error)))

    page.get_by_role("button", name="Camera").click()
    page.get_by_role("button", name="Close").click()
    page.evaluate("() => new Promise((after) => setTimeout(after))")  # an error is reported by now

    assert errors == []

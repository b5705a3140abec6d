import os
import signal
import urllib.error
import urllib.request
import uuid

import pytest
from playwright.sync_api import expect

from deploy.stack import service_commands
from tests.stack.browser.conftest import Doors
from tests.stack.browser.looks import faults_of
from tests.stack.browser.shop import Shop
from tests.stack.running import RunningStack


@pytest.fixture
def furnished(stack: RunningStack, shop: Shop) -> Shop:
    """A shop with content for every page."""
    shop.range("MUG", 18)
    shop.range("LAMP", 90)
    shop.sell("LAMP", 3)
    shop.propose_price("LAMP", old_minor=999, new_minor=849)
    stack.wait_until(
        lambda: (
            shop.shown(["MUG", "LAMP"])
            and shop.sql("SELECT 1 FROM app.reorder_proposal WHERE location = %s", shop.location)
        )
    )
    return shop


def pages(shop: Shop) -> tuple[str, ...]:
    return (
        f"/?location={shop.location}",
        f"/find/?q=LAMP&location={shop.location}",
        f"/scan/?q=LAMP&location={shop.location}",
        f"/labels/?location={shop.location}&sku=LAMP",
        f"/items/{shop.location}/LAMP",
        f"/reorders/?location={shop.location}",
        f"/prices/?location={shop.location}",
        "/tasks/?for=all",
        "/suppliers/",
        "/transfers/",
        f"/range/?location={shop.location}&sku=NEW",
        "/system/",
        "/system/demand/",
        "/system/workers/",
        "/system/rejected/?state=all",
        "/system/proofs/",
        "/system/audit/",
        "/home/",
    )


ADMIN = (
    "/admin/",
    "/admin/ledger/",
    "/admin/ledger/product/",
    "/admin/ledger/product/?q=nothing",
    "/admin/ledger/product/add/",
    "/admin/ledger/location/",
    "/admin/ledger/location/add/",
    "/admin/ledger/supplier/",
    "/admin/auth/user/",
    "/admin/auth/group/",
)
# test_people.py tests the looks of the pages under /people/. A test below has those of the admin.
OPERATORS = ("/people/", "/people/refused/", *ADMIN)
ACCOUNT = ("/account/second-factor/", "/account/sessions/", "/account/password/")


def test_every_page_is_accessible_and_fits_a_phone(doors: Doors, furnished: Shop) -> None:
    page = doors.log_in("buyer").page
    faults: list[str] = []

    for path in pages(furnished):
        page.goto(doors.base + path)
        faults += faults_of(page)

    assert faults == []


def test_the_system_page_shows_every_pipeline_stage_as_ok(doors: Doors) -> None:
    page = doors.log_in("operator").open("/system/")

    names = page.locator(".strip h3")
    expect(names).to_have_count(7)
    expect(page.locator(".strip .state.ok")).to_have_count(7)
    expect(page.locator("#slot .state.ok")).to_have_text("OK")
    assert [text.split()[0] for text in names.all_inner_texts()] == [
        "Postgres",
        "Debezium",
        "Kafka",
        "Workers",
        "Read",
        "Screen",
        "By",
    ]


def test_the_system_page_shows_the_last_error_of_a_killed_projector(
    stack: RunningStack, doors: Doors
) -> None:
    pid = stack.runtime.services["projector"].pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)

    page = doors.log_in("operator").open("/system/")

    stage = page.locator(".strip li").filter(has=page.get_by_role("heading", name="Read model"))
    expect(stage).to_contain_text("projector was ended by SIGKILL", timeout=60_000)
    expect(stage.locator(".state.ok")).to_be_visible(timeout=60_000)


@pytest.mark.soak
def test_the_admin_is_accessible_and_renames_a_supplier(doors: Doors, furnished: Shop) -> None:
    visitor, code = doors.log_in("operator"), f"B-{uuid.uuid4().hex[:8]}"
    visitor.expected = ("422",)
    page = visitor.page
    faults: list[str] = []
    for path in ADMIN:
        page.goto(doors.base + path)
        faults += faults_of(page)
    page.set_viewport_size({"width": 1280, "height": 844})

    visitor.open("/").get_by_role("link", name="Admin").click()
    page.get_by_role("link", name="Add to Suppliers").click()
    page.get_by_label("Code").fill("A|B")
    page.get_by_label("Name").fill("Bolt")
    page.get_by_role("button", name="Save", exact=True).click()
    said = "No |, and no space at the start or end. Nothing was saved."
    expect(page.get_by_text(said)).to_be_visible()
    expect(page.get_by_label("Name")).to_have_value("Bolt")
    faults += faults_of(page)
    page.get_by_label("Code").fill(code)
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("searchbox").fill(code)
    page.get_by_role("searchbox").press("Enter")
    page.get_by_role("link", name=code).click()
    faults += faults_of(page)
    page.get_by_label("Name").fill("Bolt & Sons")
    page.get_by_role("button", name="Save and continue editing").click()
    page.get_by_role("main").get_by_role("link", name="History").click()

    expect(page.get_by_role("listitem").filter(has_text="was “Bolt”")).to_contain_text(
        "operator: change supplier. Name: “Bolt & Sons”"
    )
    assert faults + faults_of(page) == []


def test_every_page_asks_for_a_login_first(doors: Doors, shop: Shop) -> None:
    visitor = doors.log_in("associate")
    visitor.log_out_silently()

    assert "/login/?next=" in visitor.open("/").url
    for path in (*pages(shop), *OPERATORS, *ACCOUNT):
        answer = visitor.context.request.get(doors.base + path)
        assert "/login/?next=" in answer.url, path
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(f"{doors.base}/live/stream?keys=x")  # noqa: S310 -- our own stack


def test_guessing_a_password_is_slowed_down(doors: Doors) -> None:
    visitor = doors.log_in("associate")
    visitor.expected = ("429",)
    visitor.log_out_silently()
    page = visitor.open("/login/")

    for _ in range(6):
        page.fill("[name=username]", "nobody-here")
        page.fill("[name=password]", "guess")
        page.click("main button")
        expect(page.get_by_role("alert")).to_be_visible()

    expect(page.get_by_role("alert")).to_contain_text("Too many failed logins")


def test_responses_have_a_strict_content_security_policy(doors: Doors) -> None:
    with urllib.request.urlopen(f"{doors.base}/login/") as answer:  # noqa: S310 -- our own stack
        policy = answer.headers["Content-Security-Policy"]

    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy


def test_the_live_pill_changes_when_the_server_hangs_and_then_recovers(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    key = shop.range("MUG", 42)
    stack.wait_until(lambda: shop.shown(["MUG"]))
    visitor = doors.log_in("associate")
    visitor.expected = ("/live/stream", "ERR_", "Failed to load resource")
    page = visitor.open(f"/?location={shop.location}")
    pill = page.locator("#pill")
    expect(pill).to_have_attribute("data-state", "live")
    page.evaluate("() => { window.neverReloaded = true; }")
    pid = stack.runtime.services["web"].pid
    assert pid is not None

    service_commands.hold(stack.home, "web")
    os.kill(pid, signal.SIGSTOP)  # its connections stay open but send nothing
    shop.sell("MUG", 5)

    expect(pill).not_to_have_attribute("data-state", "live")
    service_commands.hold(stack.home, "web", release=True)
    os.kill(pid, signal.SIGKILL)  # the supervisor starts a new process
    expect(pill).to_have_attribute("data-state", "live")
    expect(page.locator(f'[data-key="{key}"] [data-f="on_hand"]')).to_have_text("37")
    assert page.evaluate("() => window.neverReloaded") is True

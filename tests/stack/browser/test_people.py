"""Accounts in a real browser: invitation, login, second factor, lost phone, refused requests."""

import uuid

import pyotp
from playwright.sync_api import Locator, Page, expect

from tests.stack.browser.conftest import Doors, Visitor
from tests.stack.browser.looks import faults_of

PASSWORD = "four words none knows"  # noqa: S105 -- of this test's person


def card(page: Page, name: str) -> Locator:
    return page.get_by_role("article", name=name, exact=True)


def invited(operator: Page, base: str, name: str) -> str:
    """Add an associate who works everywhere. Return the address of the invitation."""
    operator.goto(f"{base}/people/")
    operator.get_by_text("Add a person").click()
    form = operator.locator("form", has=operator.get_by_label("User name"))
    form.get_by_label("User name").fill(name)
    form.get_by_label("associate").check()
    form.get_by_label("everywhere").check()
    form.get_by_role("button", name="Add and invite").click()
    return operator.get_by_label("Link", exact=True).input_value()


def enrolled(page: Page, base: str) -> list[str]:
    """Set up an authenticator; return the faults in the looks of its pages."""
    page.goto(f"{base}/account/second-factor/")
    faults = faults_of(page)
    secret = page.locator("main code").inner_text().replace(" ", "")
    page.get_by_label("Enter the code").fill(pyotp.TOTP(secret).now())
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_text("recovery codes")).to_be_visible()
    faults += faults_of(page)
    page.goto(f"{base}/account/second-factor/")
    return faults + faults_of(page)


def set_up(guest: Visitor, link: str, name: str) -> list[str]:
    """Accept the invitation, log in and set up an authenticator. Return the faults of all pages."""
    page = guest.page
    page.goto(link)
    faults = faults_of(page)
    page.get_by_label("Password, 12 characters").fill(PASSWORD)
    page.get_by_label("Password again").fill(PASSWORD)
    page.get_by_role("button", name="Save the password and go to the login").click()
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    faults += faults_of(page)
    page.goto(link)
    faults += faults_of(page)
    guest.log_in(name, PASSWORD)
    expect(page.get_by_role("heading", name="What waits for you")).to_be_visible()
    for path in ("/account/password/", "/account/password/changed/", "/account/sessions/"):
        page.goto(guest.base + path)
        faults += faults_of(page)
    return faults + enrolled(page, guest.base)


def test_account_pages_are_accessible_and_an_operator_resets_a_lost_second_factor(
    doors: Doors,
) -> None:
    name = f"nora-{uuid.uuid4().hex[:8]}"
    operator, guest, other = doors.log_in("operator").page, doors.enter(), doors.enter()
    guest.expected = ("410",)
    link = invited(operator, doors.base, name)
    faults = faults_of(operator, opened=True)
    faults += set_up(guest, link, name)
    other.log_in(name, PASSWORD)
    expect(other.page.get_by_role("heading", name="Enter your code")).to_be_visible()
    faults += faults_of(other.page)
    operator.goto(f"{doors.base}/people/")
    card(operator, name).get_by_text("Second factor", exact=True).click()
    faults += faults_of(operator)

    card(operator, name).get_by_role("button", name="Reset second factor").click()

    expect(operator.get_by_text(f"The second factor of {name} was removed.")).to_be_visible()
    guest.open("/tasks/")
    expect(guest.page.get_by_role("heading", name="Log in")).to_be_visible()
    other.log_in(name, PASSWORD)
    expect(other.page.get_by_role("heading", name="What waits for you")).to_be_visible()
    assert faults == []


def test_a_shared_device_switches_accounts_with_a_name_and_a_password(doors: Doors) -> None:
    visitor, password = doors.enter(), doors.people.password
    page = visitor.open("/login/")
    page.get_by_label("Several people share this device").check()
    visitor.page.fill("[name=username]", "associate")
    visitor.page.fill("[name=password]", password)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="What waits for you")).to_be_visible()
    page.goto(f"{doors.base}/tasks/?for=all")

    page.get_by_role("button", name="Change person").click()

    page.get_by_role("group", name="People of this device").get_by_text("associate").click()
    expect(page.get_by_label("User name")).to_have_value("associate")
    expect(page.get_by_label("Password")).to_be_focused()
    faults = faults_of(page)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.keyboard.type(password)
    page.keyboard.press("Enter")
    page.wait_for_url("**/tasks/?for=all")
    page.get_by_role("button", name="Change person").click()
    page.get_by_label("Several people share this device").uncheck()
    expect(page.get_by_role("group", name="People of this device")).to_be_hidden()
    assert page.evaluate("() => localStorage.getItem('inventory-names')") is None
    assert faults == []


def test_operators_see_refused_requests_with_account_and_reason(doors: Doors) -> None:
    buyer, operator = doors.log_in("buyer"), doors.log_in("operator").page
    buyer.expected = ("403",)
    page = buyer.open("/people/")
    expect(page.get_by_text("needs the right to manage staff")).to_be_visible()
    faults = faults_of(page)

    operator.goto(f"{doors.base}/people/")
    operator.get_by_role("link", name="Refused requests").click()
    operator.get_by_label("Account").fill("buyer")
    operator.get_by_role("button", name="Apply").click()

    row = operator.get_by_role("row", name="GET /people/").first
    expect(row).to_contain_text("Not allowed: This page or action needs the right to manage staff")
    faults += faults_of(operator)
    assert faults == []

"""The analyst desk in a browser: its looks, and a request that the prover executes."""

import re

import psycopg
import pytest
from playwright.sync_api import expect

from tests.ledger.planted import ANSWERED, COMPARED, REVIEWED, WAITING, plant_history
from tests.stack.browser.conftest import Doors
from tests.stack.browser.looks import faults_of
from tests.stack.browser.shop import Shop

PAGES = (
    "/history/",
    f"/history/requests/{WAITING}/",
    "/history/differences/",
    f"/history/differences/{COMPARED}/",
    f"/history/differences/{COMPARED}/key?key=ROME-1%7CTEA",
    "/history/reviews/",
    f"/history/reviews/{REVIEWED}/",
    "/history/proofs/",
    "/history/questions/",
    f"/history/answers/{ANSWERED}/",
)


@pytest.fixture(name="planted")
def planted_history(shop: Shop) -> Shop:

    with psycopg.connect(shop.url, autocommit=True) as connection:
        plant_history(connection)
    return shop


@pytest.mark.parametrize("role", ["analyst", pytest.param("operator", marks=pytest.mark.soak)])
def test_every_history_page_is_accessible_and_fits_a_phone(
    doors: Doors, planted: Shop, role: str
) -> None:
    page = doors.log_in(role).page
    faults: list[str] = []

    for path in PAGES:
        page.goto(doors.base + path)
        faults += faults_of(page)

    assert faults == []


def test_a_history_request_shows_its_final_status_without_a_reload(
    doors: Doors, planted: Shop
) -> None:
    page = doors.log_in("analyst").open("/history/questions/")

    page.get_by_label("One SELECT in DuckDB's SQL").fill("SELECT 1 AS one FROM nowhere")
    page.get_by_role("button", name="Run the statement").click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("Query history")
    expect(page.locator("#work .flag").first).to_have_text(re.compile("done|failed"))
    expect(page.locator("#work")).not_to_have_attribute("data-open", "")


def test_a_difference_is_narrowed_to_one_item(doors: Doors, planted: Shop) -> None:
    page = doors.log_in("lead").open(f"/history/differences/{COMPARED}/")
    expect(page.get_by_role("heading", name="1 to 2 of 2, largest money first")).to_be_visible()

    page.get_by_role("link", name="Changed").click()
    expect(page.get_by_role("heading", name="1 to 1 of 1, largest money first")).to_be_visible()
    page.get_by_role("link", name="TEA").click()

    expect(page.get_by_role("button", name="Explain this item")).to_be_visible()

"""The frame of a page: navigation on every page, the phone's bar, and files on a device."""

import re
from importlib import import_module

import psycopg
import pytest
from django.test import Client

from tests.ledger.inbox import level, state
from tests.ledger.pages import person, with_static_files

ANYBODY = Client(SERVER_NAME="localhost")


def bar(page: str) -> list[str]:
    """Return the labels of the phone's bar."""
    [part] = re.findall(r'<nav class="bar".*?</nav>', page, re.DOTALL)
    return [label for label in re.findall(r">([A-Z][a-z]+)</", part) if label != "More"]


@pytest.mark.parametrize(
    ("role", "labels"),
    [
        ("associate", ["Find", "Scan", "Count", "Receive"]),
        ("manager", ["Find", "Scan", "Count", "Receive"]),
        ("buyer", ["Find", "Tasks", "Reorders", "Prices"]),
        ("operator", ["Find", "Tasks", "Reorders", "Prices"]),
    ],
)
def test_phone_bar_lists_the_main_desks_of_the_role(
    ledger: psycopg.Connection, role: str, labels: list[str]
) -> None:
    client = person(role)
    assert bar(client.get("/tasks/").content.decode()) == labels
    # The page Scan marks its entry in the navigation. Roles without this entry see Find marked.
    current = 'aria-current="page">' if "Scan" in labels else ""
    [entry] = re.findall(r'<a href="/scan/"[^>]*>', client.get("/scan/").content.decode()) or [""]
    assert entry.endswith(current)


def test_navigation_groups_name_known_desks_and_shortcut_keys_are_unique(
    ledger: psycopg.Connection,
) -> None:
    page, looks = import_module("webui.shell.page"), import_module("webui.shell.navigation")
    desks = {name for name, *_ in page.NAVIGATION}
    keys = [key for _, _, key, _ in page.NAVIGATION]

    assert looks.GROUPS.keys() <= desks
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(
    ("address", "status", "heading"),
    [("/people/", 403, "Not allowed"), ("/no-such-page/", 404, "Not found")],
)
def test_an_error_page_has_the_navigation(
    ledger: psycopg.Connection, address: str, status: int, heading: str
) -> None:
    answer = person("associate").get(address)
    page = answer.content.decode()

    assert answer.status_code == status
    assert f"<h1>{heading}</h1>" in page
    assert '<nav id="desks"' in page
    assert 'href="/tasks/" data-go="t"' in page
    assert '<a class="button primary" href="/">To the stock list</a>' in page
    assert 'aria-current="page"' not in page


def test_error_page_without_a_login_has_no_navigation(ledger: psycopg.Connection) -> None:
    answer = ANYBODY.get("/no-such-page/")

    assert answer.status_code == 404
    assert '<nav id="desks"' not in answer.content.decode()


def test_only_the_stock_list_may_be_stored_offline(ledger: psycopg.Connection) -> None:
    level(ledger, state())
    client = person("manager")

    assert "Keep-Offline" in client.get("/?q=a")
    for address in ("/tasks/", "/items/L/S", "/people/", "/stock.csv", "/no-such-page/"):
        assert "Keep-Offline" not in client.get(address), address


def test_service_worker_and_offline_page_need_no_login_and_hold_no_data(
    ledger: psycopg.Connection,
) -> None:
    level(ledger, state())
    script, page = ANYBODY.get("/service-worker.js"), ANYBODY.get("/offline/")
    german = ANYBODY.get("/service-worker.js", headers={"accept-language": "de"})

    assert (script.status_code, page.status_code) == (200, 200)
    assert script["Content-Type"] == "text/javascript; charset=utf-8"
    assert script["Cache-Control"] == "no-cache"
    # A browser installs the offline page again only when the script changes.
    assert script.content == ANYBODY.get("/service-worker.js").content != german.content
    assert "csrf" not in page.content.decode()
    assert '<link rel="icon" href="data:image/svg+xml,%3Csvg' in page.content.decode()
    assert '<nav id="desks"' not in page.content.decode()
    with with_static_files():
        manifest = Client(SERVER_NAME="localhost").get("/static/app.webmanifest")
        # Chromium installs no service worker if one of the files is missing.
        for path in re.findall(r'"((?:css|js|vendor)/[^"]+)"', script.content.decode()):
            assert Client(SERVER_NAME="localhost").get(f"/static/{path}").status_code == 200, path
    assert manifest["Content-Type"].startswith("application/manifest+json")


def test_page_has_a_container_for_toast_messages(ledger: psycopg.Connection) -> None:
    page = person("associate").get("/tasks/").content.decode()

    assert '<div class="toasts"></div>' in page

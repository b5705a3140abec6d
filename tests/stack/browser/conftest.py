"""Fixtures: a real browser on the running stack. Console and network errors fail the test."""

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    StorageState,
    expect,
    sync_playwright,
)

from deploy.artifacts.prerequisites import HEADLESS, find
from deploy.stack.home import PROJECT
from tests.stack.browser.shop import Shop
from tests.stack.running import RunningStack

# Limit of every wait in a browser test. Only a failing test waits so long.
DEADLINE_MS = 120_000
# Warning in the console when a page registers its service worker. Only tests of a lost network
# allow service workers.
BLOCKED = "Service Worker registration blocked by Playwright"
expect.set_options(timeout=DEADLINE_MS)


# No slots: playwright keeps its wrappers of bound handlers on the object.
@dataclass
class Visitor:
    """One person's browser window, and all errors in it."""

    base: str
    page: Page
    context: BrowserContext
    expected: tuple[str, ...] = ()
    problems: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        """Go to a path of the web application, for example `/login/`. Return the page."""
        self.page.goto(self.base + path)
        return self.page

    def log_in(self, name: str, password: str) -> None:
        """Fill in and send the login form."""
        page = self.open("/login/")
        page.fill("[name=username]", name)
        page.fill("[name=password]", password)
        page.click("main button")

    def watch(self) -> None:
        """Collect console errors, failed requests, and requests to other servers."""
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.problems.append(f"script: {error}"))
        self.page.on("request", self._request)
        self.page.on("requestfailed", self._failed)

    def log_out_silently(self) -> None:
        """Leave the page and delete the session cookie.

        On an open page, the server would refuse the page's event stream, which counts as an error.
        """
        self.page.goto("about:blank")
        self.context.clear_cookies()

    def complaints(self) -> list[str]:
        """Return all errors that the test did not expect."""
        return [p for p in self.problems if not any(word in p for word in self.expected)]

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and BLOCKED not in message.text:
            self.problems.append(f"console {message.type}: {message.text}")

    def _request(self, request: Request) -> None:
        if urlsplit(request.url).netloc != urlsplit(self.base).netloc:
            self.problems.append(f"foreign request: {request.url}")

    def _failed(self, request: Request) -> None:
        # The browser aborts a page's event stream and polls when the page is left: no failure.
        if "ERR_ABORTED" not in (request.failure or ""):
            self.problems.append(f"failed request: {request.url} {request.failure}")


@dataclass(frozen=True)
class People:
    """The test accounts: their common password, and the cookies of roles that have logged in."""

    password: str
    cookies: dict[str, StorageState] = field(default_factory=dict)


@pytest.fixture(scope="package")
def people(stack: RunningStack) -> People:
    """Create one account per role."""
    password = secrets.token_urlsafe(12)
    subprocess.run(  # noqa: S603 -- our own command
        # With access to every store, because each test creates stores of its own.
        [
            *(sys.executable, "-m", "webui.manage", "seed_demo_users"),
            *(f"--password={password}", "--everywhere"),  # the password may begin with a dash
        ],
        cwd=PROJECT,
        env={**os.environ, **stack.environment},
        check=True,
        capture_output=True,
    )
    return People(password)


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    path = find(HEADLESS)
    if path is None:
        pytest.skip(f"no browser: {HEADLESS.repair}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


class Doors:
    """Browser windows of people. Each role logs in once; its later windows share the session."""

    def __init__(self, stack: RunningStack, browser: Browser, people: People) -> None:
        self.base = str(stack.runtime.services["web"].url)
        self._browser = browser
        self.people = people
        self._open: list[Visitor] = []

    def enter(self, **options: Any) -> Visitor:
        """Return a window without a login. Service workers are blocked, unless `options` differ."""
        options.setdefault("service_workers", "block")
        context = self._browser.new_context(**options)
        context.set_default_timeout(DEADLINE_MS)
        visitor = Visitor(self.base, context.new_page(), context)
        visitor.watch()
        self._open.append(visitor)
        return visitor

    def log_in(self, role: str, **options: Any) -> Visitor:
        """Return a window of this role's person."""
        known = self.people.cookies.get(role)
        visitor = self.enter(storage_state=known, **options)
        if known is None:
            visitor.log_in(role, self.people.password)
            visitor.page.wait_for_url(lambda url: "/login" not in url)
            self.people.cookies[role] = visitor.context.storage_state()
        return visitor

    def close(self) -> list[str]:
        """Close all windows and return their errors."""
        complaints = [text for visitor in self._open for text in visitor.complaints()]
        for visitor in self._open:
            visitor.context.close()
        return complaints


@pytest.fixture
def doors(stack: RunningStack, chromium: Browser, people: People) -> Iterator[Doors]:
    opened = Doors(stack, chromium, people)
    yield opened
    complaints = opened.close()
    assert complaints == [], json.dumps(complaints, indent=1)


@pytest.fixture
def shop(stack: RunningStack) -> Shop:
    return Shop(stack.settings.owner_database_url.get_secret_value())

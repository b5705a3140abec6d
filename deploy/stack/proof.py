"""End-to-end proof of the demo: a sale in Postgres must appear on an open page.

The proof logs in as the demo's analyst and opens the live stream of the stock page. It commits one
sale, and waits until the stream shows less stock. It reports the seconds from commit to arrival.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import httpx
from typing_extensions import override

from deploy.errors import StackError
from deploy.stack.django import connect_django
from deploy.stack.home import Home
from deploy.stack.runtime import read_runtime
from ledger.access.roles import ANALYST
from webui.config.environment import WebEnvironment

_TIMEOUT_S: Final = 60.0
_CATCH_UP_S: Final = 180.0
_ATTEMPTS: Final = 3
PERSON: Final = ANALYST  # sees every store
# An item of a store, with more than 5 units. At the same moment, the demo's trading may sell the
# same item, so that the number falls by more than 1. So each attempt takes another item.
_QUIET_KEY: Final = """
SELECT inv_key, location, sku, price_minor FROM read_model.stock
WHERE stock_known AND policy_active AND on_hand_units > 5 AND price_minor IS NOT NULL
  AND location = ANY(%s)
ORDER BY on_hand_units DESC, inv_key OFFSET %s LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Proof:
    """One sale that reached the page, with the on-hand number before and after it.

    `seconds` is the time from the commit until the page received the new number.
    """

    location: str
    sku: str
    before: str
    after: str
    seconds: float

    @override
    def __str__(self) -> str:
        return (
            f"sold 1 × {self.sku} in {self.location} by SQL: the page changed from "
            f"{self.before} to {self.after} after {self.seconds:.2f} s"
        )


def refuse_https() -> None:
    """Raise `StackError` if the pages redirect to HTTPS: the proof logs in over HTTP."""
    if WebEnvironment().https:
        message = (
            "INVENTORY_HTTPS is set, so the pages redirect HTTP to HTTPS, and the demo can't log in"
            " over HTTP; nothing was started"
        )
        raise StackError(message, repair="env -u INVENTORY_HTTPS inventory demo")


def logins(home: Home) -> dict[str, str]:
    """Return a map from the demo's user names to their passwords.

    Raises:
        StackError: this home has no demo.
    """
    if not home.has_demo():
        message = f"no demo logins in {home.path}"
        raise StackError(message, repair="inventory down && inventory demo")
    found: dict[str, str] = json.loads(home.logins_file.read_text(encoding="utf-8"))
    return found


def page_url(home: Home) -> str:
    """Return the URL of the running stack's pages; raise `StackError` if it has none."""
    web = read_runtime(home).services.get("web")
    if web is None:
        message = "the running stack has no service web: it was started with --only"
        raise StackError(message, repair="inventory down && inventory demo")
    if not web.url:
        message = "the service web has no address yet"
        raise StackError(message, repair="inventory status")
    return web.url


def prove(home: Home) -> Proof:
    """Sell one unit and wait for the change on the page's stream. Return the observed sale.

    Raises:
        StackError: the stack has no service web, the read model lags, the login failed, or no sale
            changed a number by 1 in time.
    """
    url = page_url(home)
    connect_django(home)
    _await_present()
    with httpx.Client(
        base_url=url, timeout=_TIMEOUT_S, follow_redirects=True, trust_env=False
    ) as browser:
        _log_in(browser, logins(home)[PERSON])
        for attempt in range(_ATTEMPTS):
            proof = _sell_and_watch(browser, attempt)
            if proof is not None:
                return proof
    message = f"no sale reached {url} in {_TIMEOUT_S:.0f} s"
    raise StackError(message, repair="inventory down && inventory demo")


def _log_in(browser: httpx.Client, password: str) -> None:
    browser.get("/login/")
    form = {"username": PERSON, "password": password}
    form["csrfmiddlewaretoken"] = browser.cookies.get("csrftoken") or ""
    answer = browser.post("/login/", data=form, headers={"Referer": str(browser.base_url)})
    if answer.is_error or "sessionid" not in browser.cookies:
        message = f"login as {PERSON} at {browser.base_url} gave {answer.status_code}"
        raise StackError(message, repair="inventory logs web")


def _await_present() -> None:
    """Wait until the read model includes all records up to now.

    Otherwise the stock on the page would also change by sales from before the proof.

    Raises:
        StackError: the read model is still behind after 180 s.
    """
    from django.db import connection  # noqa: PLC0415 -- Django is set up by now

    deadline = time.monotonic() + _CATCH_UP_S
    with connection.cursor() as cursor:
        cursor.execute("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
        now_us = cursor.fetchone()[0]
        while time.monotonic() < deadline:
            cursor.execute("SELECT coalesce(min(commit_us), 0) FROM read_model.heartbeat")
            if cursor.fetchone()[0] >= now_us:
                return
            time.sleep(0.2)
    message = f"the read model is still behind after {_CATCH_UP_S:.0f} s; no sale was written"
    raise StackError(message, repair="inventory status")


def _quiet_key(attempt: int) -> tuple[str, str, str, int]:
    from django.db import connection  # noqa: PLC0415 -- Django is set up by now

    from bench.retailer.catalogue import STORES  # noqa: PLC0415 -- as above

    deadline = time.monotonic() + _TIMEOUT_S
    while time.monotonic() < deadline:
        with connection.cursor() as cursor:
            cursor.execute(_QUIET_KEY, [list(STORES), attempt])
            row = cursor.fetchone()
        if row is not None:
            return row[0], row[1], row[2], row[3]
        time.sleep(0.2)
    message = "the read model shows no item of the demo retailer"
    raise StackError(message, repair="inventory logs projector")


def _sell_and_watch(browser: httpx.Client, attempt: int) -> Proof | None:
    """Record one sale and wait for the next number on the stream. Return the observed sale.

    Return None if the number isn't lower by exactly 1, or if none arrives.
    """
    from django.contrib.auth.models import User  # noqa: PLC0415 -- Django is set up by now

    from ledger.services import RecordSale, record_sale  # noqa: PLC0415 -- as above
    from webui.live.access import sign_keys  # noqa: PLC0415 -- as above

    key, location, sku, price_minor = _quiet_key(attempt)
    token = sign_keys(User.objects.get(username=PERSON).pk, [key])
    with browser.stream("GET", f"/live/stream?keys={quote(token)}") as stream:
        changes = _on_hand(stream, key)
        before = next(changes, None)
        if before is None:
            return None
        record_sale(RecordSale(location, sku, "proof", str(time.time_ns()), 1, price_minor))
        committed = time.monotonic()
        for after in changes:
            if after != before:
                seconds = time.monotonic() - committed
                expected = _units(after) == _units(before) - 1
                return Proof(location, sku, before, after, seconds) if expected else None
    return None


def _on_hand(stream: httpx.Response, key: str) -> Iterator[str]:
    """Yield the texts of the key's on-hand cell, in the order in which the page receives them."""
    deadline = time.monotonic() + _TIMEOUT_S
    for line in stream.iter_lines():
        if time.monotonic() > deadline:
            return
        if line.startswith("data: "):
            patch: dict[str, Any] = json.loads(line.removeprefix("data: "))
            cells = (patch.get(key) or {}).get("cells", {})
            if "on_hand" in cells:
                yield cells["on_hand"]


def _units(text: str) -> int:
    digits = "".join(sign for sign in text if sign.isdigit())
    return -int(digits) if text[:1] in "-−–" else int(digits)

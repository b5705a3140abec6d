"""The examples of docs/webhooks.md: the registration, and the receiver that verifies messages."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import httpx
import psycopg

from deploy.stack.home import PROJECT
from tests.ledger.hooked import loopback_allowed, register, turn
from tests.ledger.postgres import _free_port
from tests.ledger.programs import account, program_of
from tests.ledger.rows import reorder_proposal
from tests.ledger.test_api_documentation import BLOCK, DEADLINE_S, address, run
from tests.processes import end

__all__ = ["address"]
PAGE = (PROJECT / "docs" / "webhooks.md").read_text(encoding="utf-8")
[EXAMPLE] = [text for language, text in BLOCK.findall(PAGE) if language == "python"]


@contextmanager
def example(port: int, secrets: str) -> Iterator["subprocess.Popen[str]"]:
    """Run the receiver of the page until the block ends."""
    process = subprocess.Popen(  # noqa: S603 -- an example of our page
        [sys.executable, "-u", "-c", EXAMPLE],
        env=os.environ | {"PORT": str(port), "WEBHOOK_SECRETS": secrets},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        httpx.HTTPTransport(retries=8).handle_request(
            httpx.Request("GET", f"http://127.0.0.1:{port}/")
        ).close()
        yield process
    finally:
        end(process)


def sent(url: str, headers: dict[str, str], body: bytes) -> int:
    return httpx.post(url, content=body, headers=headers, timeout=DEADLINE_S).status_code


def test_the_documented_receiver_verifies_messages_and_refuses_forged_ones(
    ledger: psycopg.Connection, sinks: psycopg.Connection
) -> None:
    signing: Any = import_module("ledger.webhooks.signing")
    port = _free_port()
    url = f"http://127.0.0.1:{port}/"
    with loopback_allowed():
        hook = register(url)
        reorder_proposal(sinks)
        [(position,)] = ledger.execute("SELECT max(id) FROM app.decision_event").fetchall()
        with example(port, f"whsec_AAAA {hook.secret}") as process:
            assert turn() == 1
            assert ledger.execute("SELECT count(*) FROM app.webhook_message").fetchone() == (0,)
            assert process.stdout is not None
            assert process.stdout.readline() == f"{position} need.opened\n"

            body = b'{"id": "evt_2", "position": 7, "type": "order.sent"}'
            now = int(time.time())
            right = signing.headers_of("evt_2", now, body, [hook.secret])
            other_key = signing.headers_of("evt_2", now, body, ["whsec_BBBB"])
            old = signing.headers_of("evt_2", now - 400, body, [hook.secret])
            assert sent(url, other_key, body) == 401
            assert sent(url, old, body) == 401
            assert sent(url, right, body + b" ") == 401
            assert sent(url, right, body) == 204
            assert sent(url, right, body) == 204  # the receiver must print it once
        with process.stdout as output:
            assert output.read() == "7 order.sent\n"


def test_the_documented_requests_register_a_webhook(
    ledger: psycopg.Connection, address: str
) -> None:
    token = program_of(account("buyer", "purchasing-robot")).token
    environment = os.environ | {"API": address, "TOKEN": token}
    [block] = [text for language, text in BLOCK.findall(PAGE) if language == "console"]

    made, listed = [
        run(["bash", "-c", line.removeprefix("$ ")], environment) for line in block.splitlines()
    ]

    assert '"secret": "whsec_' in made
    assert "https://purchasing.example.com/hooks" in listed
    assert "whsec_" not in listed

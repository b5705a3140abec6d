"""The examples of docs/api.md, executed against a running server, and the event stream."""

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import httpx
import psycopg
import pytest

from deploy.stack.home import PROJECT
from inventory.model.ids import InvKey
from tests.ledger.inbox import level, state
from tests.ledger.pages import with_static_files
from tests.ledger.programs import account, program_of
from tests.ledger.rows import reorder_proposal, write

PAGE = (PROJECT / "docs" / "api.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DEADLINE_S = 60.0
KEY = {"location": "BERLIN-1", "sku": "BED-1053", "inv_key": "BERLIN-1|BED-1053"}


@pytest.fixture(scope="module")
def address(database: str) -> Iterator[str]:
    """Return the API's address of a running server of this process's Django."""
    uvicorn: Any = import_module("uvicorn")
    with with_static_files():
        application = import_module("webui.config.asgi").application
    hub = import_module("webui.live.stream").HUB
    hub.closing = False  # another test may have left it True
    config = uvicorn.Config(application, port=0, lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=asyncio.run, args=(server.serve(),))
    started = threading.Event()
    startup = server.startup

    async def watched(sockets: Any = None) -> None:
        await startup(sockets)
        started.set()

    server.startup = watched
    thread.start()
    assert started.wait(DEADLINE_S)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}/api/v1"
    hub.closing = True  # ends open streams
    server.should_exit = True
    thread.join(DEADLINE_S)
    hub.closing = False


@pytest.fixture
def environment(ledger: psycopg.Connection, address: str) -> dict[str, str]:
    """Return the variables of the examples. Write the rows that the examples use."""
    ledger.execute("INSERT INTO retail.supplier (code, name) VALUES ('ACME', 'Acme')")
    level(ledger, state(inv_key=InvKey(KEY["inv_key"])))
    write(ledger, "item_location", supplier="ACME", pack_units=6, cost_minor=250, **KEY)
    reorder_proposal(ledger, reorder_id="R:BERLIN-1|BED-1053:1-2", **KEY)
    for location in ("BERLIN-1", "HAMBURG-1"):
        write(ledger, "stock_count", units=20, **at(location))
    write(ledger, "item_location", supplier="ACME", **at("HAMBURG-1"))
    ledger.execute(
        "INSERT INTO retail.location (code, name) VALUES ('BERLIN-1', 'B'), ('HAMBURG-1', 'H')"
    )
    token = program_of(account("buyer", "purchasing-robot")).token
    store_token = program_of(account("associate", "dock-robot")).token
    return os.environ | {"API": address, "TOKEN": token, "STORE_TOKEN": store_token}


def at(location: str) -> dict[str, str]:
    return {"location": location, "sku": KEY["sku"], "inv_key": f"{location}|{KEY['sku']}"}


def run(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(  # noqa: S603 -- an example of our page
        command, env=environment, capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )
    # 28 is curl's exit code for a timeout: the example of the stream sets one.
    assert done.returncode in {0, 28}, done.stderr
    return done.stdout


def answers_of(page: str, environment: dict[str, str]) -> list[str]:
    """Execute the examples of a page in order. Return the output of each."""
    answers: list[str] = []
    for language, text in BLOCK.findall(page):
        if language == "python":
            answers.append(run([sys.executable, "-c", text], environment))
        elif language == "console":
            lines = [line.removeprefix("$ ") for line in text.splitlines()]
            wanted = [line for line in lines if not line.startswith("export ")]
            answers += [run(["bash", "-c", line], environment) for line in wanted]

    return answers


def test_the_examples_of_api_md_send_and_receive_an_order(
    environment: dict[str, str],
) -> None:
    stock, needs, decided, sent, events, newest, stream, *of_store = answers_of(PAGE, environment)
    assert json.loads(stock)["item"]["sku"] == "BED-1053"
    assert json.loads(needs)["items"][0]["revision"] == 1
    assert json.loads(decided)["outcome"] == "ordered"
    assert json.loads(decided)["units"] == 12
    assert "'units': 12" in sent
    found = json.loads(events)
    assert [event["change"] for event in found["items"]] == ["opened", "decided", "sent"]
    assert json.loads(newest)["next"] == found["next"]
    data = [line.removeprefix("data: ") for line in stream.splitlines() if "data: " in line]
    assert [json.loads(line)["cursor"] for line in data] == [e["cursor"] for e in found["items"]]
    counted, planned, transfers, stop, received = of_store
    assert json.loads(counted)["counts"][0]["sku"] == "BED-1053"
    assert json.loads(transfers)["items"][0]["id"] == json.loads(planned)["id"]
    assert json.loads(stop)["is_stopped"] is False
    assert "'receipt_ids': [" in received


def test_api_md_lists_every_scope_with_its_right(database: str) -> None:
    tokens = import_module("webui.accounts.api_tokens")
    urls = import_module("webui.api.urls")
    rights = {
        rule.scope: rule.ability.replace("_", " ")
        for operation in urls.operations()
        for rule in urls.all_rules(operation.auth_callbacks)
    }

    rows = re.findall(r"^\| `(\w+:\w+)` \| .* \| ([\w ]+) \|$", PAGE, re.MULTILINE)

    assert dict(rows) == rights
    assert [scope for scope, _ in rows] == list(tokens.SCOPES)


def test_api_md_lists_each_error_type_with_its_status() -> None:
    sources = sorted((PROJECT / "webui" / "api").glob("*.py"))
    made = {
        (name, status)
        for source in sources
        for status, name in re.findall(r'Problem\((\d+), "([a-z-]+)"', source.read_text("utf-8"))
    }
    rows = re.findall(r"^\| ((?:`[a-z-]+`(?:, )?)+) \| (\d[\d, ]*) \|", PAGE, re.MULTILINE)

    listed = {
        (name, status)
        for names, statuses in rows
        for name in re.findall("[a-z-]+", names)
        for status in statuses.split(", ")
    }

    assert len(made) > 15
    assert made <= listed


def test_a_stream_continues_after_an_event_and_ends_with_its_token(
    environment: dict[str, str], sinks: psycopg.Connection
) -> None:
    tokens = import_module("webui.accounts.api_tokens")
    user = account("buyer", "purchasing-robot")
    head = {"Authorization": f"Bearer {environment['TOKEN']}"}
    client = httpx.Client(base_url=environment["API"], headers=head, timeout=DEADLINE_S)
    first = client.get("/decisions").json()["next"]
    found: list[str] = []

    with client.stream("GET", "/decisions/stream", headers={"Last-Event-ID": first}) as stream:
        assert stream.headers["Content-Type"] == "text/event-stream"
        lines = stream.iter_lines()
        assert next(lines) == "retry: 1000"
        sinks.execute("UPDATE app.reorder_proposal SET revision = 2")
        for line in lines:
            found.append(line)
            if line.startswith("data: "):
                tokens.end_tokens(user.pk, "test")
    client.close()

    assert found[1].startswith("id: ")
    assert "event: decision" in found
    assert found[-3:] == ["event: bye", 'data: {"reason": "the token has ended"}', ""]


def test_a_stream_of_a_location_ends_when_the_account_loses_the_location(
    environment: dict[str, str],
) -> None:
    head = {"Authorization": f"Bearer {environment['TOKEN']}"}
    url = f"{environment['API']}/decisions/stream?location=BERLIN-1"

    with httpx.stream("GET", url, headers=head, timeout=DEADLINE_S) as stream:
        lines = stream.iter_lines()
        next(lines)
        account("buyer", "purchasing-robot", stores=("HAMBURG-1",))
        found = list(lines)

    reason = "BERLIN-1 is not a location of the account any more"
    assert found[-3:] == ["event: bye", f'data: {{"reason": "{reason}"}}', ""]


def test_a_token_has_at_most_five_streams_and_a_process_fifty(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    decisions = import_module("webui.api.decisions")
    head = {"Authorization": f"Bearer {environment['TOKEN']}"}
    client = httpx.Client(base_url=environment["API"], headers=head, timeout=DEADLINE_S)
    tokens = import_module("webui.accounts.api_tokens")
    [token] = tokens.tokens_of(account("buyer", "purchasing-robot").pk)
    for held, status in (
        (dict.fromkeys(range(5), token.id), 429),
        (dict.fromkeys(range(50), 0), 503),
    ):
        monkeypatch.setattr(decisions.STREAMS, "open", held)
        refused = client.get("/decisions/stream")
        assert (refused.status_code, refused.headers["Retry-After"]) == (status, "30")
        assert refused.json()["type"].endswith(":too-many-streams")
    client.close()


def test_a_stream_opened_above_the_limit_by_a_race_ends_at_once(
    monkeypatch: pytest.MonkeyPatch, database: str
) -> None:
    decisions = import_module("webui.api.decisions")
    caller = import_module("webui.api.access").Caller(None, 7)
    held = dict.fromkeys(range(50), 0)
    monkeypatch.setattr(decisions.STREAMS, "open", held)

    async def frames() -> list[bytes]:
        following = decisions.Following(caller, "", "", 0)
        return [frame async for frame in decisions._follow(following)]

    assert b"too many streams" in b"".join(asyncio.run(asyncio.wait_for(frames(), DEADLINE_S)))
    assert len(held) == 50

"""The item page asks a worker with a timeout. Without an answer, it shows the read model's age."""

import socket
import time
from importlib import import_module

import psycopg
import pytest
from pydantic import SecretStr

from cdc.contracts.partition import partition_of
from cdc.contracts.times import time_text
from cdc.contracts.topics import ON_HAND_CHANGELOG
from cdc.workers import TIMEOUT_S
from tests.ledger.folded import state_of
from tests.ledger.pages import person
from tests.ledger.rows import write
from tests.ledger.shown import AS_OF_US, project, worker_with
from tests.ledger.test_item_page import POLICY, page, text_of

AGE_S = 36 * 3_600  # shown as “1 d” for hours


@pytest.fixture
def shop(ledger: psycopg.Connection, monkeypatch: pytest.MonkeyPatch) -> psycopg.Connection:
    write(ledger, "item_location", **POLICY)
    write(ledger, "stock_count", units=50)
    project(ledger, state_of(ledger, "L|S"))
    ledger.execute(
        "INSERT INTO read_model.sink_position (sink, topic, partition, next_offset, as_of_us)"
        " VALUES ('projector', %s, %s, 1, %s)",
        (ON_HAND_CHANGELOG, partition_of(b"L|S"), (time.time_ns() // 1000) - AGE_S * 1_000_000),
    )
    settings = import_module("django.conf").settings
    known = settings.CONNECTIONS.model_copy(update={"query_token": SecretStr("token")})
    monkeypatch.setattr(settings, "CONNECTIONS", known)
    return ledger


def test_item_page_names_the_worker_and_the_as_of_time_of_its_figures(
    shop: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Use a long timeout: on a busy machine the worker may answer late, and the page must show it.
    monkeypatch.setattr("cdc.workers.query_key.__defaults__", (30.0,))
    with worker_with(state_of(shop, "L|S")) as url:
        monkeypatch.setenv("INVENTORY_WORKER_URLS", url)
        found = page("/items/L/S?tab=sources")
        german = person("buyer")
        german.cookies["django_language"] = "de"
        translated = german.get("/items/L/S?tab=sources").content.decode()
    shown = text_of(found)

    assert "Zustand aus: Worker." in text_of(translated)
    assert "data-poll" not in found
    assert f"worker-7 reports 50 at offset 11, as of {time_text(AS_OF_US)}" in shown
    assert "State from the worker" in shown


@pytest.mark.usefixtures("shop")
def test_item_page_shows_the_read_model_if_the_worker_times_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The real timeout is shorter than a busy machine may need to send the request.
    monkeypatch.setattr("cdc.workers.query_key.__defaults__", (1.5,))
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        monkeypatch.setenv("INVENTORY_WORKER_URLS", f"http://127.0.0.1:{deaf.getsockname()[1]}")
        shown = text_of(page("/items/L/S?tab=sources"))

    assert "No worker gave figures (the worker did not answer in time)." in shown
    assert "These figures are from the read model. Their age: 1 d" in shown
    assert "State from the read model" in shown
    assert TIMEOUT_S <= 0.15


@pytest.mark.usefixtures("shop")
def test_without_workers_the_page_shows_the_read_model_and_its_age(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cdc.workers.query_key.__defaults__", (30.0,))
    monkeypatch.setenv("INVENTORY_WORKER_URLS", "http://127.0.0.1:9")

    found = page("/items/L/S?tab=sources")
    shown = text_of(found)

    assert '<span id="worker-says" data-poll="5000">' in found
    assert "No worker gave figures (the worker is unreachable)." in shown
    assert "These figures are from the read model. Their age: 1 d" in shown

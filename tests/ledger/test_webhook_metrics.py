"""Metrics of the sender of webhooks: attempts by kind and result, waiting and given-up messages."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from deploy.stack.ports import free_port
from ledger.webhooks.metrics import FIGURES, SenderMetrics, served
from tests.ledger.hooked import loopback_allowed, make_due, register, turn
from tests.ledger.postgres import Server
from tests.ledger.receiver import Receiver, running_receiver
from tests.ledger.rows import price_proposal, reorder_proposal
from tests.ledger.test_webhook_process import DEADLINE_S, sender

ATTEMPTS = "inventory_webhook_attempts_total"
WAITING = "inventory_webhook_waiting_messages"
OLDEST = "inventory_webhook_oldest_waiting_seconds"
DEAD = "inventory_webhook_given_up_messages"
ENDPOINTS = "inventory_webhook_endpoints"


@pytest.fixture
def receiver(ledger: psycopg.Connection) -> Iterator[Receiver]:
    with loopback_allowed(WEBHOOK_TIMEOUT_S=0.5), running_receiver() as running:
        yield running


def read(text: str) -> dict[str, dict[str, float]]:
    """Return {metric: {label values joined by spaces: sample}} for all samples that aren't 0."""
    found: dict[str, dict[str, float]] = {figure.name: {} for figure in FIGURES}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name in found and sample.value:
                found[sample.name][" ".join(sample.labels.values())] = sample.value
    return found


def shown(metrics: SenderMetrics) -> dict[str, dict[str, float]]:
    return read(generate_latest(metrics.registry).decode())


def test_attempts_are_counted_by_kind_and_result(
    receiver: Receiver, ledger: psycopg.Connection, sinks: psycopg.Connection
) -> None:
    metrics, statuses = SenderMetrics(), iter([503, 302])
    register(receiver.url)
    reorder_proposal(sinks)
    price_proposal(sinks)
    receiver.answer = lambda _: next(statuses, 204)
    for _ in range(3):  # the price waits for the need, because both are of one item
        turn(metrics.attempted)
        make_due(ledger)

    assert shown(metrics)[ATTEMPTS] == {
        "need refused": 2,
        "need delivered": 1,
        "price delivered": 1,
    }


def test_timeouts_and_unreachable_receivers_are_counted_separately(
    receiver: Receiver, ledger: psycopg.Connection, sinks: psycopg.Connection
) -> None:
    metrics = SenderMetrics()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        register(f"http://127.0.0.1:{silent.getsockname()[1]}/hooks", kinds=("need",))
        reorder_proposal(sinks)
        turn(metrics.attempted)
    make_due(ledger)
    turn(metrics.attempted)

    assert shown(metrics)[ATTEMPTS] == {"need timeout": 1, "need unreachable": 1}


def test_waiting_and_given_up_messages_are_read_by_kind(
    receiver: Receiver, ledger: psycopg.Connection, sinks: psycopg.Connection
) -> None:
    metrics = SenderMetrics()
    hook = register(receiver.url)
    register(receiver.url, kinds=("price",))
    reorder_proposal(sinks)
    price_proposal(sinks)
    receiver.answer = lambda _: 500
    turn(metrics.attempted)
    ledger.execute(
        "UPDATE app.webhook_message SET queued_at = clock_timestamp() - interval '1 hour'"
        " WHERE type LIKE 'need.%'"
    )

    before = shown(metrics)
    ledger.execute("UPDATE app.webhook_message SET status = 'dead' WHERE type LIKE 'need.%'")
    dead = shown(metrics)
    ledger.execute("UPDATE app.webhook SET status = 'stopped' WHERE id = %s", (hook.id,))
    stopped = shown(metrics)

    assert before[WAITING] == {"need": 1, "price": 2}
    assert 3600 <= before[OLDEST]["need"] < 3600 + DEADLINE_S
    assert 0 < before[OLDEST]["price"] < DEADLINE_S
    assert (before[DEAD], before[ENDPOINTS]) == ({}, {"active": 2})
    assert (dead[WAITING], dead[DEAD]) == ({"price": 2}, {"need": 1})
    assert "need" not in dead[OLDEST]
    assert (stopped[WAITING], stopped[DEAD]) == ({"price": 1}, {"need": 1})
    assert stopped[ENDPOINTS] == {"active": 1, "stopped": 1}


def test_each_series_begins_at_zero_and_names_no_address(receiver: Receiver) -> None:
    metrics = SenderMetrics()
    register(receiver.url + "&key=hidden-in-the-address")

    text = generate_latest(metrics.registry).decode()

    assert f'{ATTEMPTS}{{kind="order",result="unreachable"}} 0.0' in text
    assert f'{OLDEST}{{kind="webhook"}} 0.0' in text
    for word in ("hidden", "127.0.0.1", "http", "buyer"):
        assert word not in text


def test_attempt_metrics_are_reported_without_the_database(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.db import connections  # noqa: PLC0415 -- needs Django set up

    metrics = SenderMetrics()
    connections["default"].close()
    monkeypatch.setitem(connections.settings["default"], "PORT", str(free_port()))
    monkeypatch.setitem(connections["default"].settings_dict, "PORT", str(free_port()))

    text = generate_latest(metrics.registry).decode()

    assert ATTEMPTS in text
    assert WAITING not in text


def asked(port: int) -> dict[str, dict[str, float]]:
    """Return the metrics of a sender as soon as it has delivered a message."""
    deadline, seen = time.monotonic() + DEADLINE_S, ""
    while time.monotonic() < deadline:
        try:
            seen = httpx.get(f"http://127.0.0.1:{port}/metrics").text
            if read(seen)[ATTEMPTS].get("need delivered"):
                return read(seen)
        except httpx.HTTPError as problem:
            seen = str(problem)
        time.sleep(0.05)
    message = f"no delivery within {DEADLINE_S} s; last answer: {seen[-500:]}"
    raise TimeoutError(message)


def test_the_sender_process_serves_metrics_at_its_port(
    server: Server, database: str, receiver: Receiver, sinks: psycopg.Connection, tmp_path: Path
) -> None:
    port = free_port()
    register(receiver.url)
    reorder_proposal(sinks)

    own = {"INVENTORY_WEBHOOK_METRICS_PORT": str(port)}
    with sender(server, database, tmp_path / "log", **own) as process:
        found = asked(port)

    assert process.returncode == 0
    assert (found[ATTEMPTS], found[ENDPOINTS]) == ({"need delivered": 1}, {"active": 1})


def test_a_metrics_port_in_use_does_not_stop_deliveries(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    delivered = False
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        served(SenderMetrics(), "127.0.0.1", taken.getsockname()[1]),
    ):
        delivered = True

    assert delivered
    assert "metrics_not_served" in caplog.text + capsys.readouterr().out

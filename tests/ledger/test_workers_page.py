"""The workers' page: owner and offset of each partition, and the read model's age."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import psycopg
import pytest
from pydantic import SecretStr

from cdc import workers
from cdc.contracts.topics import ON_HAND_CHANGELOG
from deploy.stack.home import Home
from tests.deploy.test_workers_command import served
from tests.ledger.pages import person
from tests.streams.served import KEYS, TOKEN

AGE_S = 36 * 3_600  # shown as “1 d” for hours


@pytest.fixture
def shop(ledger: psycopg.Connection, monkeypatch: pytest.MonkeyPatch) -> psycopg.Connection:
    ledger.execute(
        "INSERT INTO read_model.sink_position (sink, topic, partition, next_offset, as_of_us)"
        " VALUES ('projector', %s, 3, 1, %s)",
        (ON_HAND_CHANGELOG, time.time_ns() // 1000 - AGE_S * 1_000_000),
    )
    settings = import_module("django.conf").settings
    known = settings.CONNECTIONS.model_copy(update={"query_token": SecretStr(TOKEN)})
    monkeypatch.setattr(settings, "CONNECTIONS", known)
    # The real timeout is so short that a worker on a busy machine may miss it.
    monkeypatch.setattr(workers.partition_map, "__defaults__", (60.0,))
    monkeypatch.setattr(workers, "_LAST", [])
    return ledger


@contextmanager
def two_workers(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run two workers that share the partitions and wait up to 60 s for each other's answers."""
    monkeypatch.setattr("streams.query.peers.MAP_TIMEOUT_S", 60.0)
    with served(Home(home)) as runtime:
        urls = [service.url or "" for service in runtime.services.values()]
        monkeypatch.setenv("INVENTORY_WORKER_URLS", ",".join(urls))
        yield


def rows() -> list[list[str]]:
    """Return the cells of each table row of the page that begins with a heading cell."""
    page = person("operator").get("/system/workers/")
    assert page.status_code == 200
    found = re.findall(r"<tr><th scope=\"row\">.*?</tr>", page.content.decode(), re.DOTALL)
    return [
        [re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
        for row in found
    ]


@pytest.mark.usefixtures("shop")
def test_the_workers_page_shows_the_partition_map_with_lag_and_both_ages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with two_workers(tmp_path, monkeypatch):
        shown = rows()

    holders, held = shown[:2], shown[2:]
    assert [row[:2] for row in holders] == [
        ["worker-1", "0, 2, 4, 6, 8, 10"],
        ["worker-2", "1, 3, 5, 7, 9, 11"],
    ]
    assert sum(int(row[2]) for row in holders) == len(KEYS)
    assert [row[0] for row in held] == [str(number) for number in range(12)]
    assert [row[1] for row in held] == ["worker-1", "worker-2"] * 6
    assert {row[2] for row in held} == {"running"}
    assert {tuple(row[4:6]) for row in held} == {("0", "0.0 s")}
    assert all(row[8].replace(",", "").isdigit() and row[9] == row[8] for row in held)
    assert [row[7] for row in held] == ["unknown"] * 3 + ["1 d"] + ["unknown"] * 8


@pytest.mark.usefixtures("shop")
def test_without_workers_no_partition_has_an_owner_and_the_reason_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("INVENTORY_WORKER_URLS", "http://127.0.0.1:9")

    shown = rows()

    assert [row[1:6] for row in shown] == [["none", "unknown", "–", "–", "–"]] * 12
    assert shown[3][7] == "1 d"
    told = person("operator").get("/system/workers/").content.decode()
    assert "the worker is unreachable" in told
    assert "Unknown, because no worker answered" in told
    assert "No restore runs now" not in told


@pytest.mark.usefixtures("database")
def test_the_partition_status_depends_on_lag_and_worker_state() -> None:
    page = import_module("webui.desks.system.queries")  # here, because it needs Django set up
    running = {"partition": 1, "worker": "w", "state": "RUNNING", "as_of_us": 5, "keys": 2}

    def state(**changes: object) -> str:
        return str(page._partition_row({**running, **changes}, 10, None).state)

    assert state(lag_seconds=30.0) == "ok"
    assert state(lag_seconds=30.1) == "slow"
    assert state(state="RESTORING") == "slow"
    assert state(state="UNKNOWN", worker=None) == "down"

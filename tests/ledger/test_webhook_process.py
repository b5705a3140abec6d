"""The sender of webhooks: killed between a request and its commit, ended by SIGTERM, its log."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.ledger.hooked import KINDS, loopback_allowed, register
from tests.ledger.postgres import PROJECT, Server
from tests.ledger.receiver import Received, running_receiver
from tests.ledger.rows import reorder_proposal
from tests.processes import end

DEADLINE_S = 120.0


@contextmanager
def sender(
    server: Server, database: str, log: Path, **further: str
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run the sender with the same secret key as this process, until the block ends."""
    from django.conf import settings  # noqa: PLC0415 -- needs Django set up

    own = {
        "INVENTORY_SECRET_KEY": settings.SECRET_KEY,
        "INVENTORY_WEBHOOK_PRIVATE_TARGETS": "1",
        **further,
    }
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "ledger.webhooks"],
            env=os.environ | server.environment(database) | own,
            cwd=PROJECT,
            stdout=output,
            stderr=output,
        )
    try:
        yield process
    finally:
        end(process)


def wait_for_failure(ledger: psycopg.Connection) -> None:
    """Wait until the failed attempt is stored."""
    deadline = time.monotonic() + DEADLINE_S
    while ledger.execute("SELECT count(failed_at) FROM app.webhook").fetchone() != (1,):
        assert time.monotonic() < deadline, f"no stored failure in {DEADLINE_S} s"
        time.sleep(0.05)


def test_a_sender_killed_before_its_commit_sends_the_same_message_again(
    server: Server,
    database: str,
    ledger: psycopg.Connection,
    sinks: psycopg.Connection,
    tmp_path: Path,
) -> None:
    running: dict[str, Any] = {}

    def kill_first(_: Received) -> int:
        if "process" in running:
            running.pop("process").kill()  # SIGKILL: after the request, before the commit
        return 204

    with loopback_allowed(), running_receiver() as receiver:
        hook = register(receiver.url)
        reorder_proposal(sinks)
        sinks.execute("UPDATE app.reorder_proposal SET revision = 2")
        receiver.answer = kill_first
        with sender(server, database, tmp_path / "log") as first:
            running["process"] = first
            receiver.wait_for(1)
            assert first.wait(DEADLINE_S) == -signal.SIGKILL
        assert ledger.execute("SELECT count(*) FROM app.webhook_message").fetchone() == (2,)
        with sender(server, database, tmp_path / "log") as second:
            lost, again, revised = receiver.wait_for(3)
        assert second.returncode == 0

    assert again.headers["webhook-id"] == lost.headers["webhook-id"]
    assert (again.body, revised.document["type"]) == (lost.body, "need.revised")
    assert again.is_signed_with(hook.secret)
    assert ledger.execute("SELECT count(*) FROM app.webhook_message").fetchone() == (0,)


def test_the_sender_writes_heartbeats_survives_a_lost_database_and_logs_no_secret(
    server: Server,
    database: str,
    ledger: psycopg.Connection,
    sinks: psycopg.Connection,
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    statuses = iter([500])
    with loopback_allowed(), running_receiver() as receiver:
        hook = register(receiver.url + "&key=hidden-in-the-address", kinds=KINDS)
        receiver.answer = lambda _: next(statuses, 204)
        reorder_proposal(sinks)
        with sender(server, database, log) as process:
            [first] = receiver.wait_for(1)
            wait_for_failure(ledger)
            ledger.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'inventory-webhooks' AND datname = current_database()"
            )
            ledger.execute("UPDATE app.webhook_message SET due_at = clock_timestamp()")
            receiver.wait_for(2)
            row = ledger.execute(
                "SELECT pid, detail FROM read_model.service_heartbeat WHERE service = 'webhooks'"
            ).fetchone()
    assert row is not None
    assert row[0] == process.pid
    assert row[1].keys() == {"sending", "sent"}
    assert process.returncode == 0

    text = log.read_text(encoding="utf-8")
    assert "webhook_not_delivered" in text
    assert "database_lost" in text
    assert hook.secret.removeprefix("whsec_") not in text
    assert first.headers["webhook-signature"] not in text
    assert "hidden-in-the-address" not in text


def test_no_table_holds_a_secret_in_clear_text(
    ledger: psycopg.Connection, till: psycopg.Connection
) -> None:
    with loopback_allowed(), running_receiver() as receiver:
        hook = register(receiver.url)
    key = hook.secret.removeprefix("whsec_")

    for table in ("app.webhook", "app.command", "app.action_log"):
        found = ledger.execute(
            f"SELECT count(*) FROM {table} t WHERE strpos(t::text, %s) > 0",  # noqa: S608 -- names from above
            (key,),
        )
        assert found.fetchone() == (0,), table
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        till.execute("DELETE FROM app.webhook")

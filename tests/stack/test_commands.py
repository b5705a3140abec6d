"""Operator commands on a running stack, and the first two commands of the README."""

import json

import pytest

from cdc.contracts.topics import STOCK_EVENTS
from deploy.stack import lag
from tests.stack.running import RunningStack


def test_the_doctor_asks_machine_and_stack_and_finds_no_failure(stack: RunningStack) -> None:
    def well() -> dict[str, str]:
        """Return the doctor's verdicts, once services that earlier tests killed are ready again."""
        result = stack.cli("doctor", "--json")
        rows = {row["name"]: row["verdict"] for row in json.loads(result.stdout)}
        return rows if result.returncode in {0, 1} else {}

    rows = stack.wait_until(well, describe=lambda: stack.cli("doctor").stdout)
    assert "failure" not in rows.values()
    assert len(rows) > 12


def test_status_shows_connector_lag_and_freshness(stack: RunningStack) -> None:
    shown = stack.cli("status", "--location", "LONDON").stdout

    assert "connector RUNNING" in shown
    assert "lag projector" in shown
    assert "freshness" in shown


def test_lag_counts_a_partition_whose_first_record_does_not_arrive_in_time(
    stack: RunningStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = stack.settings
    start = {(STOCK_EVENTS, number): 0 for number in range(settings.partitions)}
    read = lag.lag_of(settings.kafka_bootstrap, start)

    monkeypatch.setattr(lag, "_READ_S", 0.0)
    unread = lag.lag_of(settings.kafka_bootstrap, start)

    assert unread.records >= read.records > 0
    assert unread.seconds == 0.0


def test_logs_are_shown_by_service_and_all_together(stack: RunningStack) -> None:
    one = stack.cli("logs", "worker-1", "-n", "1")
    everything = stack.cli("logs", "-n", "0")
    wrong = stack.cli("logs", "worker-9")

    assert len(one.stdout.splitlines()) == 1
    assert everything.stdout.count("==>") >= len(stack.runtime.services)
    assert wrong.returncode == 1
    assert "expected one of" in wrong.stderr


def test_backfill_status_reports_runs_and_archive(stack: RunningStack) -> None:
    assert stack.cli("backfill", "run").returncode == 0

    found = json.loads(stack.cli("backfill", "status", "--json").stdout)

    assert found["archive"]["files"] > 0
    assert found["runs"][0]["finished"] is True
    assert found["runs"][0]["units_finished"] == found["runs"][0]["units"]

"""What an operator types at a running stack, and the two commands of the README's first screen."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.artifacts.fetch import cache_name, cache_root
from tests.stack.running import RunningStack, run_inventory


def test_the_doctor_asks_machine_and_stack_and_finds_no_failure(stack: RunningStack) -> None:
    def well() -> dict[str, str]:
        """Its verdicts, once what a test before this one has killed is back."""
        result = stack.cli("doctor", "--json")
        rows = {row["name"]: row["verdict"] for row in json.loads(result.stdout)}
        return rows if result.returncode in {0, 1} else {}

    rows = stack.wait_until(well, describe=lambda: stack.cli("doctor").stdout)
    assert "failure" not in rows.values()
    assert len(rows) > 12


def test_the_status_of_a_person_names_connector_lag_and_freshness(stack: RunningStack) -> None:
    shown = stack.cli("status", "--location", "LONDON").stdout

    assert "connector RUNNING" in shown
    assert "lag projector" in shown
    assert "freshness" in shown


def test_logs_are_shown_by_service_and_all_together(stack: RunningStack) -> None:
    one = stack.cli("logs", "worker-1", "-n", "1")
    everything = stack.cli("logs", "-n", "0")
    wrong = stack.cli("logs", "worker-9")

    assert len(one.stdout.splitlines()) == 1
    assert everything.stdout.count("==>") >= len(stack.runtime.services)
    assert wrong.returncode == 1
    assert "expected one of" in wrong.stderr


def test_runs_and_archive_have_a_status(stack: RunningStack) -> None:
    assert stack.cli("backfill", "run").returncode == 0

    found = json.loads(stack.cli("backfill", "status", "--json").stdout)

    assert found["archive"]["files"] > 0
    assert found["runs"][0]["finished"] is True
    assert found["runs"][0]["units_finished"] == found["runs"][0]["units"]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "home"
    run_inventory("down", home=tmp_path / "home")


def test_the_demo_sells_a_unit_and_sees_it_on_the_page(home: Path) -> None:
    shown = run_inventory("demo", home=home)

    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "the page showed" in shown.stdout
    assert "login      buyer" in shown.stdout
    assert run_inventory("reset", home=home).returncode == 1
    assert run_inventory("reset", "--yes", home=home).returncode == 0
    assert not home.exists() or list(home.iterdir()) == []


def test_archives_of_classes_are_made_where_they_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched = cache_root() / cache_name()
    copy = tmp_path / "cache" / cache_name()
    shutil.copytree(fetched, copy, copy_function=os.symlink, ignore=shutil.ignore_patterns("cds-*"))
    monkeypatch.setenv("INVENTORY_CACHE", str(tmp_path / "cache"))

    said = run_inventory("fetch", home=tmp_path / "home")

    assert said.returncode == 0, said.stderr
    assert sorted(path.name for path in copy.glob("cds-*/*")) == ["broker.jsa", "connect.jsa"]

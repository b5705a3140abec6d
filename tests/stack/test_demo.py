"""The first command of the README, and the Java class archives that `inventory fetch` makes."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from deploy.artifacts.caches import cache_root
from deploy.artifacts.fetch import cache_name
from deploy.stack.home import Home
from deploy.stack.runtime import environment_of
from tests.stack.running import RunningStack, run_inventory

TASKS = """SELECT kind, count(*) FROM app.task
WHERE cleared_at IS NULL AND opened_at IS NOT NULL GROUP BY kind"""
NEEDS = "SELECT count(*) FROM app.reorder_proposal WHERE status = 'open' AND decided_action IS NULL"
PRICES = "SELECT count(*) FROM app.price_proposal WHERE status = 'open' AND decided_action IS NULL"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "home"
    run_inventory("down", home=tmp_path / "home")


@pytest.mark.soak  # a stack of its own
def test_the_demo_sells_a_unit_and_sees_it_on_the_page(home: Path) -> None:
    shown = run_inventory("demo", home=home)

    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "the page changed" in shown.stdout
    assert "login      buyer" in shown.stdout
    _check_what_waits_for_visitors(home)
    assert run_inventory("reset", home=home).returncode == 1
    assert run_inventory("reset", "--yes", home=home).returncode == 0
    assert not home.exists() or list(home.iterdir()) == []


def _check_what_waits_for_visitors(home: Path) -> None:
    """Check that tasks, rejected records, needs and prices wait: a morning's work at most."""
    stack = RunningStack(Home(home), environment_of(Home(home)))
    url = stack.settings.read_database_url.get_secret_value()
    with psycopg.connect(url, autocommit=True) as connection:

        def tasks() -> dict[str, int]:
            return dict(connection.execute(TASKS).fetchall())

        stack.wait_until(lambda: {"stuck_transfer", "overdue_receipt"} <= tasks().keys(), tasks)
        stack.wait_until(lambda: tasks().get("rejected_record") == 2, tasks)
        for statement, most in ((NEEDS, 80), (PRICES, 30)):
            row = connection.execute(statement).fetchone()
            assert row is not None
            assert 1 <= row[0] <= most, statement
    listed = stack.cli("rejected", "list").stdout
    assert listed.count("UTC is before the horizon") == 2


@pytest.mark.soak  # `make test` begins with `inventory fetch`, which makes them on a new machine
def test_fetch_creates_missing_java_class_archives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched = cache_root() / cache_name()
    copy = tmp_path / "cache" / cache_name()
    shutil.copytree(fetched, copy, copy_function=os.symlink, ignore=shutil.ignore_patterns("cds-*"))
    monkeypatch.setenv("INVENTORY_CACHE", str(tmp_path / "cache"))

    said = run_inventory("fetch", home=tmp_path / "home")

    assert said.returncode == 0, said.stderr
    assert sorted(path.name for path in copy.glob("cds-*/*")) == ["broker.jsa", "connect.jsa"]

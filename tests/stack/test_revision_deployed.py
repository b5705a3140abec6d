"""Code of another revision on a stack with trade: no decision reaches a desk before promotion."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest

from deploy.stack.home import PROJECT, Home
from deploy.stack.runtime import environment_of
from inventory.revision import LOGIC_REVISION
from tests.analytics.shop import Shop
from tests.stack.running import COMMAND_S, RunningStack, run_inventory, start
from tests.stack.test_new_generation import approve
from tests.stack.test_revisions import SELL, desk, replaced

pytestmark = pytest.mark.soak

LATER = LOGIC_REVISION + 1
CODE = ("analytics", "bench", "cdc", "deploy", "inventory", "ledger", "streams", "webui")


@dataclass(frozen=True)
class Deployed:
    """A copy of the code with another revision, and its `inventory` command."""

    tree: Path
    home: Path

    def cli(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        mine = {key: found for key, found in os.environ.items() if not key.startswith("INVENTORY_")}
        mine |= {"INVENTORY_HOME": str(self.home), "INVENTORY_WEB_PORT": "0", "COLUMNS": "160"}
        mine["INVENTORY_JVM_COMPILERS"] = "first"  # starts faster; a test is short
        return subprocess.run(  # noqa: S603 -- our own code
            [sys.executable, "-m", "deploy.cli.main", *arguments],
            cwd=self.tree,
            env=mine | {"PYTHONPATH": str(self.tree)},
            capture_output=True,
            text=True,
            timeout=COMMAND_S,
            check=False,
        )


@pytest.fixture
def traded(tmp_path: Path) -> Iterator[tuple[RunningStack, Shop]]:
    """A separate stack with a shop that has needs."""
    home = tmp_path / "home"
    try:
        stack = start(home, "--workers", "1")
        shop = Shop(stack.settings.owner_database_url.get_secret_value())
        shop.trade()
        with psycopg.connect(shop.url, autocommit=True) as connection:
            connection.execute(SELL, {"place": shop.location, "sku": "C", "units": 90})
        stack.wait_until(lambda: "C" in desk(stack, shop))
        yield stack, shop
    finally:
        run_inventory("down", home=home)


@pytest.fixture
def later(tmp_path: Path) -> Deployed:
    tree = tmp_path / "later"
    for package in CODE:
        shutil.copytree(PROJECT / package, tree / package)
    shutil.copy(PROJECT / "pyproject.toml", tree)
    replaced(
        tree / "inventory" / "revision.py",
        r"LOGIC_REVISION: Final = \d+",
        f"LOGIC_REVISION: Final = {LATER}",
    )
    return Deployed(tree, tmp_path / "home")


def test_new_code_shows_its_state_at_once_and_decides_when_it_is_promoted(
    traded: tuple[RunningStack, Shop], later: Deployed
) -> None:
    stack, shop = traded
    before = desk(stack, shop)
    assert stack.cli("down").returncode == 0

    up = later.cli("up", "--detach", "--workers", "1")

    assert up.returncode == 0, up.stdout + up.stderr
    stack = RunningStack(Home(later.home), environment_of(Home(later.home)))
    checked = later.cli("verify", "--json")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert json.loads(checked.stdout)["keys_compared"] >= 3
    assert shown(stack) == {LATER}
    assert (
        f"logic revision {LOGIC_REVISION} decides, but the workers here have {LATER}"
        in later.cli("doctor").stdout
    )
    assert desk(stack, shop) == before
    assert f"inventory revision promote {LATER} --without-comparison" in up.stdout
    need = standing(stack, shop, "C")
    # No worker of the former revision runs, so none accepts the need when its order arrives.
    approve(stack, need)

    promoted = later.cli("revision", "promote", str(LATER), "--without-comparison", "--json")

    assert promoted.returncode == 0, promoted.stderr
    assert status(stack, need) == "accepted"
    assert desk(stack, shop) == {
        sku: (units, LATER) for sku, (units, _) in before.items() if sku != "C"
    }
    with psycopg.connect(shop.url, autocommit=True) as connection:
        connection.execute(SELL, {"place": shop.location, "sku": "B", "units": 95})
    stack.wait_until(lambda: desk(stack, shop).get("B", (0, 0))[1] == LATER)
    for command in (("verify",), ("backfill", "verify")):
        checked = later.cli(*command)
        assert checked.returncode == 0, checked.stdout + checked.stderr
    take_back(later)


def take_back(later: Deployed) -> None:
    """Let the former revision decide again. Its workers run beside those of the new code."""
    former = ("revision", "start", str(LOGIC_REVISION), "--code", str(PROJECT))
    started = later.cli(*former)
    assert started.returncode == 0, started.stderr
    back = later.cli("backfill", "rollback")
    assert back.returncode == 0, back.stderr
    assert "get no new ones" not in later.cli("doctor").stdout
    assert later.cli(*former).returncode == 0, "workers of what decides may be started"


def standing(stack: RunningStack, shop: Shop, sku: str) -> str:
    """Return the id of the item's open need."""
    return asked(stack, "inv_key = %s AND status = 'open'", f"{shop.location}|{sku}")[0]


def status(stack: RunningStack, need: str) -> str:
    return asked(stack, "reorder_id = %s", need)[1]


def asked(stack: RunningStack, where: LiteralString, value: str) -> tuple[str, str]:
    """Return id and status of the only proposal for which `where` is true."""
    url = stack.settings.read_database_url.get_secret_value()
    rows: LiteralString = "SELECT reorder_id, status FROM app.reorder_proposal WHERE "
    with psycopg.connect(url, autocommit=True) as connection:
        [(need, found)] = connection.execute(rows + where, (value,)).fetchall()
    return str(need), str(found)


def shown(stack: RunningStack) -> set[int]:
    """Return the logic revisions of the rows that pages read."""
    url = stack.settings.read_database_url.get_secret_value()
    with psycopg.connect(url, autocommit=True) as connection:
        rows = connection.execute("SELECT DISTINCT logic_revision FROM read_model.stock")
        return {int(row[0]) for row in rows}

"""`inventory backfill simulate` as a command: tables, JSON, refusals, and no network access."""

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from analytics.backfill.change.parameters import BadParameter
from analytics.engines import local
from analytics.simulation.refusals import SimulationRefused
from cdc.contracts.decisions import DecisionContext, ReorderEvent
from cdc.contracts.rejects import Origin
from deploy.cli.main import app
from deploy.errors import StackError
from deploy.stack.home import PROJECT
from inventory.model.ids import ReorderId
from inventory.model.outputs import ReorderOutput
from streams.sinks.proposals import is_simulated
from tests.analytics.histories import POLICY, Generated, _Writer
from tests.analytics.simulations import in_this_process
from tests.analytics.two_runs import Home, a_home

Run = Callable[..., Result]

# Refuse every socket and, at the end, write the names of all modules. Child processes do the same.
GUARD = """
import atexit, os, sys
def refuse(event, arguments):
    if event.startswith("socket."):
        raise RuntimeError(f"{event} {arguments}")
sys.addaudithook(refuse)
where = os.path.join(os.environ["MODULES_OF_TEST"], str(os.getpid()))
def write():
    with open(where, "w") as stream:
        stream.write("\\n".join(sys.modules))
atexit.register(write)
"""
FORBIDDEN = (
    *("aiokafka", "confluent_kafka", "psycopg", "faust", "streams", "ledger", "webui"),
    *("analytics.backfill.publish", "analytics.kafka", "deploy.revisions", "cdc.settings"),
)


@pytest.fixture(name="home", scope="module")
def a_home_of_the_module(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return a_home(tmp_path_factory.mktemp("command") / "home")


@pytest.fixture(name="simulate")
def a_command(home: Home, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("INVENTORY_HOME", str(home.settings.home))
    monkeypatch.setattr(local, "opened_pool", in_this_process)

    def run(*options: str) -> Result:
        return CliRunner().invoke(app, ["backfill", "simulate", *options])

    return run


def python(*arguments: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 -- this Python


def report(done: Result) -> dict[str, Any]:
    assert done.exit_code == 0, done.output
    return dict(json.loads(done.stdout))


def test_a_table_shows_history_baseline_and_scenario_with_their_differences(simulate: Run) -> None:
    done = simulate("--set", "reorder_point_units=30", "--by", "store", "--by", "class")

    assert done.exit_code == 0, done.output
    titles = [line.split()[0] for line in done.stdout.splitlines() if line]
    assert titles[:5] == ["9", "scenario", "history", "baseline", "changed"]
    assert titles.count("store") == 3
    assert "(+" in done.stdout
    assert "assumptions: demand: recorded sales and 0 units estimated" in done.stdout
    assert "digest " in done.stdout
    assert "2 of 2 units simulated" in done.stderr


def test_the_output_has_the_period_and_the_number_of_changed_items(simulate: Run) -> None:
    some = simulate("--set", "reorder_point_units=30", "--where", "supplier=ACME", "--by", "store")
    none = simulate("--set", "reorder_point_units=30", "--where", "supplier=NOBODY")

    assert re.search(r"9 items simulated from \d{4}-.* to \d{4}-.* UTC; history is", some.stdout)
    assert "store L0, 3 items" in some.stdout
    assert "scenario changed changes the parameters of 3 of 9 items" in some.stdout
    assert "warning: scenario changed changes no item's parameters" in none.stdout
    assert "warning" not in some.stdout


def test_a_log_with_replenishment_off_is_warned_about(
    simulate: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported = a_home(tmp_path / "home", a_history_that_replenishes_at_its_end())
    monkeypatch.setenv("INVENTORY_HOME", str(imported.settings.home))

    by_log = simulate("--set", "reorder_point_units=30")
    found = report(simulate("--set", "reorder_point_units=30", "--json"))
    latest = simulate("--set", "reorder_point_units=30", "--parameters", "latest")

    told = (
        r"warning: the log's parameters have replenishment off for ([\d,]+) ‰ of the simulated time"
    )
    [permille] = re.findall(told, by_log.stdout)
    assert int(permille.replace(",", "")) == found["replenishment_off_permille"] > 900
    assert found["never_replenished"] == 0
    assert "--parameters latest" in by_log.stdout
    assert "warning" not in latest.stdout


def a_history_that_replenishes_at_its_end() -> Generated:
    """Return trade of one item with replenishment off until the last record."""
    history = Generated()
    writer = _Writer(random.Random(3), history)  # noqa: S311 -- seeded test data
    off = writer.row("item_location", "L0|S0", POLICY | {"replenish_family": "off"})
    writer.row("stock_count", "L0|S0", {"units": 40, "kind": "opening", "status": "approved"})
    for _ in range(80):
        writer.step("L0|S0")
    writer._emit("item_location", "u", "L0|S0", off, off | {"replenish_family": "sS"})
    return history


def test_the_baseline_alone_needs_no_option(simulate: Run) -> None:
    found = report(simulate("--json"))

    assert [row["scenario"] for row in found["outcomes"]] == ["history", "baseline"]
    assert found["simulated"] is True
    assert Path(found["directory"]).name == found["simulation"]


def test_options_become_assumptions_and_scenarios(simulate: Run, tmp_path: Path) -> None:
    file = tmp_path / "many.toml"
    file.write_text('[[scenario]]\nname = "early"\nset = { reorder_point_units = 40 }\n')

    found = report(
        simulate(
            *("--scenarios", str(file), "--set", "hysteresis_units=3", "--where", "family=sS"),
            *("--approval-minutes", "90", "--order-days", "mon,thu", "--lead-times", "policy"),
            *("--demand", "recorded", "--parameters", "latest", "--seed", "7", "--json"),
            *("--out", str(tmp_path / "out"), "--item", "S3"),
        )
    )

    assert [one["name"] for one in found["scenarios"]] == ["baseline", "early", "changed"]
    assert found["assumptions"] == {
        "approval_minutes": 90,
        "order_days": ["mon", "thu"],
        "lead_times": "policy",
        "demand": "recorded",
        "parameters": "latest",
        "seed": 7,
    }
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "keys",
        "orders",
        "simulation.json",
    ]
    assert {row["keys"] for row in found["outcomes"]} == {1}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--where", "family=sS"), "--where 'family=sS' requires --set; nothing was simulated"),
        (("--order-days", "mon,someday"), "--order-days 'someday': expected one of mon, tue"),
        (("--lead-times", "guess"), "--lead-times 'guess': expected history or policy"),
        (("--demand", "all"), "--demand 'all': expected estimated or recorded"),
        (("--parameters", "new"), "--parameters 'new': expected log or latest"),
        (("--by", "week"), "--by 'week': expected one of store, supplier, class"),
        (("--engine", "duck"), "--engine 'duck': expected local or spark"),
        (("--buckets", "0"), "--buckets 0: expected 1 or more"),
        (("--processes", "0"), "--processes 0: expected 1 or more"),
    ],
)
def test_a_wrong_option_is_named(simulate: Run, options: tuple[str, ...], told: str) -> None:
    refused = simulate(*options).exception

    assert isinstance(refused, StackError)
    assert told in str(refused)


def test_wrong_parameters_files_and_items_are_refused(simulate: Run, tmp_path: Path) -> None:
    assert isinstance(simulate("--set", "no_such=1").exception, BadParameter)
    assert isinstance(simulate("--scenarios", str(tmp_path / "none")).exception, SimulationRefused)
    assert isinstance(simulate("--store", "NOWHERE").exception, SimulationRefused)
    assert simulate("--approval-minutes", "-1").exit_code == 2


def test_simulate_needs_no_sockets_or_secrets_and_loads_no_network_modules(
    home: Home, tmp_path: Path
) -> None:
    site, modules = tmp_path / "site", tmp_path / "modules"
    site.mkdir()
    modules.mkdir()
    (site / "sitecustomize.py").write_text(GUARD)
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": f"{site}{os.pathsep}{PROJECT}",
        "INVENTORY_HOME": str(home.settings.home),
        "MODULES_OF_TEST": str(modules),
    }
    options = ["--set", "reorder_point_units=30", "--processes", "1", "--json"]
    command = ["-m", "deploy.cli.main", "backfill", "simulate", *options]

    done = python(*command, "--out", str(tmp_path / "out"), environment=environment)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["simulated"] is True
    loaded = {name for file in modules.iterdir() for name in file.read_text().splitlines()}
    assert "analytics.simulation.world" in loaded
    ways = {name for name in loaded for way in FORBIDDEN if f"{name}.".startswith(f"{way}.")}
    assert ways == set()


def test_the_audit_hook_refuses_a_socket(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(GUARD)
    environment = {"PYTHONPATH": str(tmp_path), "MODULES_OF_TEST": str(tmp_path)}

    done = python("-c", "import socket; socket.socket()", environment=environment)

    assert "RuntimeError: socket.__new__" in done.stderr


def test_is_simulated_recognizes_the_needs_of_a_simulation(simulate: Run, tmp_path: Path) -> None:
    report(simulate("--json", "--out", str(tmp_path / "out")))

    needs = pq.read_table(tmp_path / "out" / "orders").column("need_id").to_pylist()
    assert needs
    for need in needs:
        output = ReorderOutput(ReorderId(need), 1, "open", 1, 0, 0, 0, (), None)
        event = ReorderEvent(output, None, 0, DecisionContext("L|S", Origin(1, 0, 0), 0, 1))
        assert is_simulated(event)

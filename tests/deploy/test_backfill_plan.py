"""`inventory backfill plan` and `run` with other rules, as commands, without a stack."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from analytics.engines.spark import DEFAULT_MASTER, Cluster
from deploy.cli.backfill import cluster_of
from deploy.cli.main import app
from inventory.revision import LOGIC_REVISION
from tests.analytics.histories import PARTITIONS
from tests.analytics.two_runs import Home, a_home, one_pack_more

pytestmark = pytest.mark.engines

Run = Callable[..., Result]
MORE = ("--set", "reorder_point_units=30", "--where", "store=L1")


@pytest.fixture(name="home", scope="module")
def a_home_of_the_module(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return a_home(tmp_path_factory.mktemp("plan") / "home")


@pytest.fixture(name="backfill")
def a_command(home: Home, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("INVENTORY_HOME", str(home.settings.home))
    monkeypatch.setenv("INVENTORY_PARTITIONS", str(PARTITIONS))

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(app, ["backfill", *arguments])

    return run


def report(done: Result) -> dict[str, Any]:
    assert done.stdout, done.exception
    return dict(json.loads(done.stdout))


def test_the_command_of_a_plan_computes_the_planned_run(
    backfill: Run, home: Home, capfd: pytest.CaptureFixture[str]
) -> None:
    shown = backfill("plan", "--until", "archived", *MORE)
    found = report(backfill("plan", "--until", "archived", *MORE, "--json"))
    number = LOGIC_REVISION + 1

    assert shown.exit_code == 0, shown.output
    assert f"{number}: reorder_point_units = 30 where location = L1" in shown.stdout
    assert "can be published" in shown.stdout
    assert (found["policy_rows_changed"], found["keys_changed"]) == (3, 3)
    assert found["command"] in shown.stdout
    assert Path(found["tree"]).parent == home.settings.home / "backfill" / "trees"

    _, _, *command = found["command"].split()
    capfd.readouterr()
    assert backfill(*command, "--json").exit_code == 0
    run = json.loads(capfd.readouterr().out)
    assert {name: run[name] for name in ("run", "code", "records", "logic_revision")} == {
        name: found[name] for name in ("run", "code", "records", "logic_revision")
    }
    again = report(backfill("plan", "--until", "last", *MORE, "--json"))
    assert (again["units_finished"], again["records_new"]) == (again["units"], 0)
    assert backfill("diff", found["run"], str(number)).exit_code == 0


def test_a_number_names_the_newest_run_of_a_revision(
    home: Home, backfill: Run, capfd: pytest.CaptureFixture[str]
) -> None:
    own, other = home.run(), home.run(one_pack_more)

    found = report(backfill("diff", own, str(LOGIC_REVISION), "--json"))

    assert (found["a"]["run"], found["b"]["run"]) == (own, other)
    assert {found["a"]["logic_revision"], found["b"]["logic_revision"]} == {LOGIC_REVISION}
    first = {
        number: home.manifest.files(number)[0].next_offset
        for number in {file.partition for file in home.manifest.all_files()}
    }
    shorter = home.run(ends=first)
    of_ends = report(backfill("diff", str(LOGIC_REVISION), shorter, "--json"))
    assert (of_ends["a"]["run"], of_ends["b"]["run"]) == (shorter, shorter)
    beside = report(backfill("diff", str(LOGIC_REVISION), other, "--json"))
    assert (beside["a"]["run"], beside["b"]["run"]) == (own, other)  # not the run itself
    assert "no run '99': expected 'last', the number" in str(backfill("diff", "99", own).exception)


def test_a_filter_needs_what_if_and_is_kept_in_the_command(backfill: Run) -> None:
    refused = backfill("plan", "--until", "archived", *MORE, "--store", "L1")
    allowed = report(
        backfill("plan", "--until", "archived", *MORE, "--store", "L1", "--what-if", "--json")
    )

    assert refused.exit_code == 1
    assert "it holds store L1 only" in str(refused.exception)
    assert allowed["publishable"] is False
    assert "--store L1" in allowed["command"]
    assert allowed["command"].endswith("--what-if")


def test_a_plan_of_unchanged_rules_reports_that_workers_run_them_already(backfill: Run) -> None:
    found = report(backfill("plan", "--until", "archived", "--json"))

    own = f"this stack's own workers run logic revision {LOGIC_REVISION} already"
    assert found["problems"][0] == own
    assert found["command"] == ("inventory backfill run --engine local --until archived")


def test_a_history_beyond_the_archive_needs_a_stack(backfill: Run) -> None:
    assert "no stack runs here" in str(backfill("plan", "--until", "2027-01-01").exception)
    assert "no stack runs" in str(backfill("plan").exception)


@pytest.mark.parametrize(
    ("master", "conf", "expected"),
    [
        (None, None, Cluster(DEFAULT_MASTER)),
        (None, ["spark.master=spark://10.0.0.5:7077"], Cluster("spark://10.0.0.5:7077")),
        ("local[4]", ["spark.master=yarn", "a.b=c=d"], Cluster("local[4]", {"a.b": "c=d"})),
    ],
)
def test_the_spark_master_comes_from_either_option(
    master: str | None, conf: list[str] | None, expected: Cluster
) -> None:
    assert cluster_of(master, conf) == expected

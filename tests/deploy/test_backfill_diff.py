"""`inventory backfill diff` as a command: tables, JSON, files and exit codes, without a stack."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from analytics.backfill.diff.compared_runs import NotComparable
from deploy.cli.main import app
from tests.analytics import two_runs
from tests.analytics.two_runs import Home, a_home

Run = Callable[..., Result]


@pytest.fixture(name="home", scope="module")
def a_home_of_the_module(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return a_home(tmp_path_factory.mktemp("command") / "home")


@pytest.fixture(name="diff")
def a_command(home: Home, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("INVENTORY_HOME", str(home.settings.home))
    runs = home.run(), home.run(two_runs.higher_reorder_point)

    def run(*options: str, names: tuple[str, str] = runs) -> Result:
        return CliRunner().invoke(app, ["backfill", "diff", *names, *options])

    return run


def report(done: Result) -> dict[str, Any]:
    return dict(json.loads(done.stdout))


def test_a_table_names_the_rows_that_it_leaves_out(diff: Run) -> None:
    done = diff("--limit", "3", "--by", "reason")

    assert done.exit_code == 1, done.output
    assert "Reorders, largest money first" in done.stdout
    assert "7 rows are not shown; --limit, --offset and --out show them" in done.stdout
    assert "reorder_point_units" in done.stdout
    assert "digest " in done.stdout


def test_every_row_is_on_exactly_one_page(diff: Run) -> None:
    everything = report(diff("--json", "--limit", "100"))
    pages = [report(diff("--json", "--limit", "4", "--offset", str(at))) for at in (0, 4, 8)]

    assert [row for page in pages for row in page["rows"]["reorder"]] == everything["rows"][
        "reorder"
    ]
    assert [page["rows_not_shown"]["reorder"] for page in pages] == [6, 6, 8]
    assert everything["rows_not_shown"] == {"reorder": 0, "price": 0}
    assert {page["digest"] for page in pages} == {everything["digest"]}
    assert {group["dimension"] for group in everything["groups"]} == {"store"}


def test_equal_runs_end_with_0_and_files_are_written(diff: Run, home: Home, tmp_path: Path) -> None:
    same = home.run(), home.run(buckets=2)
    options = ("--out", str(tmp_path / "out"), "--html", str(tmp_path / "diff.html"), "--json")

    done = diff(*options, names=same)

    assert done.exit_code == 0, done.output
    assert (report(done)["equal"], report(done)["decisions_differing"]) == (True, 0)
    names = ["groups.parquet", "prices.parquet", "reorders.parquet"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == names
    assert len(report(done)["files"]) == 4
    assert (tmp_path / "diff.html").is_file()


def test_one_key_is_shown_with_both_sides(diff: Run, home: Home) -> None:
    text = diff("--key", "L0|S3")
    found = report(diff("--key", "L0|S3", "--json"))
    equal = diff("--key", "L0|S3", names=(home.run(), home.run(buckets=2)))

    assert (text.exit_code, equal.exit_code) == (1, 0)
    assert "L0|S3: first differing record stock.events[0]@83" in text.stdout
    assert "differs" in text.stdout
    assert {line["section"] for line in found["lines"]} == {"Written by the run"}
    assert len(found["problems"]) == 2
    assert "both sides made the same decisions" in equal.stdout


@pytest.mark.parametrize(
    "options", [("--limit", "0"), ("--key", "L|S", "--out", "there"), ("--code", "/no/such/tree")]
)
def test_wrong_options_end_with_2(diff: Run, options: tuple[str, ...]) -> None:
    assert diff(*options).exit_code == 2


def test_an_unknown_run_is_refused_with_the_known_ones(diff: Run) -> None:
    refused = diff(names=("last", "nothing")).exception

    assert isinstance(refused, NotComparable)
    assert refused.exit_code == 2
    assert "known runs: local-" in str(refused)


def test_the_live_state_needs_a_running_stack(diff: Run, home: Home) -> None:
    done = diff("--json", names=("live", home.run()))

    assert isinstance(done.exception, NotComparable)
    assert done.exception.exit_code == 2
    assert "no stack runs in" in done.exception.problem
    assert "inventory up" in done.exception.step

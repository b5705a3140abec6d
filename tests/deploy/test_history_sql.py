"""`inventory sql --history` and `inventory backfill tables` as commands, without a stack."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from analytics.backfill.diff.scratch import Scratch
from analytics.backfill.diff.tables import write_tables
from analytics.backfill.run import runs_dir
from analytics.backfill.seal import RUN_FILE
from deploy.cli.main import app
from deploy.errors import StackError
from tests.analytics import two_runs
from tests.analytics.two_runs import Home, a_history, a_home

Sql = Callable[..., Result]


@pytest.fixture(name="home", scope="module")
def a_home_of_the_module(tmp_path_factory: pytest.TempPathFactory) -> Home:
    found = a_home(tmp_path_factory.mktemp("sql") / "home", a_history(steps=150))
    found.run()
    return found


@pytest.fixture(name="sql")
def a_command(home: Home, monkeypatch: pytest.MonkeyPatch) -> Sql:
    monkeypatch.setenv("INVENTORY_HOME", str(home.settings.home))

    def sql(*options: str, lines: str = "") -> Result:
        return CliRunner().invoke(app, ["sql", *options], input=lines)

    return sql


def refusal(done: Result) -> tuple[str, str]:
    assert isinstance(done.exception, StackError)
    return str(done.exception), done.exception.repair


def test_tables_are_written_at_the_first_question_and_then_read(sql: Sql) -> None:
    statement = "SELECT store, count(*) AS keys FROM states GROUP BY store ORDER BY store"

    first, second = (sql("--history", statement) for _ in range(2))

    assert first.exit_code == second.exit_code == 0, first.output
    assert "tables of the run: 3 of 3 partitions written" in first.stderr
    assert second.stderr == "3 rows\n"
    assert second.stdout == first.stdout == "store  keys\nL0     3   \nL1     3   \nL2     3   \n"


def test_rows_come_as_csv_json_and_parquet(sql: Sql, tmp_path: Path) -> None:
    statement = "SELECT id, flags, decided_at FROM decisions ORDER BY id, revision"
    path = tmp_path / "needs.parquet"

    as_csv = list(csv.DictReader(sql("--history", statement, "--csv").stdout.splitlines()))
    as_json = json.loads(sql("--history", statement, "--json").stdout)
    done = sql("--history", statement, "--parquet", str(path))

    assert len(as_csv) == len(as_json) == pq.read_metadata(path).num_rows > 2
    assert [row["id"] for row in as_csv] == [row["id"] for row in as_json]
    assert as_json[0]["flags"] == []
    assert as_csv[0]["decided_at"] == as_json[0]["decided_at"]
    assert as_csv[0]["decided_at"].endswith("Z")
    assert f"to {path}" in done.stderr


def test_questions_are_listed_and_answered(sql: Sql) -> None:
    listed = sql("--questions")
    names = [entry["name"] for entry in json.loads(sql("--questions", "--json").stdout)]
    answered = sql("--question", "late_facts", "--csv")

    assert len(names) == 10
    assert "How late do the sales of each store arrive" in answered.stderr
    assert "A delay is the time from business time to commit." in answered.stderr
    assert all(name in listed.stdout for name in names)
    assert [line.split(",")[0] for line in answered.stdout.splitlines()] == [
        "store",
        "L0",
        "L1",
        "L2",
    ]


def test_a_difference_of_runs_is_queried_beside_the_tables(
    sql: Sql, home: Home, tmp_path: Path
) -> None:
    with Scratch() as scratch:
        runs = home.run(), home.run(two_runs.one_pack_more)
        write_tables(home.compare(*runs, scratch), tmp_path)

    statement = "SELECT sum(delta_units) AS units FROM diff_reorders JOIN states USING (inv_key)"
    done = sql("--history", statement, "--diff", str(tmp_path), "--run", runs[0], "--json")

    assert json.loads(done.stdout)[0]["units"] > 0


@pytest.mark.parametrize(
    ("options", "message", "repair"),
    [
        (("--history", "SELECT x FROM log"), 'column "x" not found', "show tables"),
        (("--history", "COPY log TO 'x'"), "COPY is no query", "write a SELECT"),
        (("--history", "SELECT 1", "--run", "nope"), "run 'nope'", "backfill status"),
        (("--question", "nope"), "one of forecast_error, ", "inventory sql --questions"),
        (("--question", "shrink", "SELECT 1"), "expected only one; nothing was queried", ""),
        (("--history", "SELECT 1", "--csv", "--json"), "--csv and --json", ""),
        (("--history", "--csv"), "need a statement", "--history"),
        (("SELECT 1", "--run", "last"), "--run belongs to --history", "--history"),
        (("SELECT 1", "--parquet", "x"), "--parquet belongs to --history", "--history"),
        (("SELECT 1", "--whole-archive"), "--whole-archive belongs to --history", "--history"),
    ],
)
def test_a_refusal_has_the_message_and_the_next_step(
    sql: Sql, options: tuple[str, ...], message: str, repair: str
) -> None:
    found = refusal(sql(*options))

    assert message in found[0]
    assert repair in found[1]


def test_the_shell_runs_statements_of_several_lines_from_a_pipe(sql: Sql) -> None:
    lines = "SELECT 1 AS one,\n\n  ';' AS two;\n.schema late\n.ask shrink\nSELECT 3 AS three"

    done = sql("--history", lines=lines)

    assert done.exit_code == 0, done.output
    assert "one  two\n1    ;  \n" in done.stdout
    assert "late: one row per record with a sale or return that no window counts\n" in done.stdout
    assert "lost_minor" in done.stdout
    assert done.stdout.endswith("three\n3    \n")


def test_the_shell_lists_tables_with_their_rows(sql: Sql, home: Home) -> None:
    done = sql("--history", lines=".tables\n.questions\n.help\n")

    rows = {line.split()[0]: line.split()[1] for line in done.stdout.splitlines()}
    assert rows["states"] == "9"
    assert int(rows["log"]) == sum(file.rows for file in home.manifest.all_files())
    assert {"sell_through", ".quit"} <= rows.keys()


def test_the_shell_continues_after_an_error_and_fails_at_the_end(sql: Sql) -> None:
    done = sql(
        "--history", lines="SELECT x;\n.nope\n.schema nope\nSELECT 5 AS five;\n.quit\nSELECT 6;"
    )

    assert done.stdout == "five\n5   \n"
    assert done.stderr.count("error: ") == 3
    assert ".help lists the commands" in done.stderr
    assert refusal(done)[0] == "3 statements failed; see the messages above"


def test_the_command_for_tables_names_rows_and_directories(
    home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("INVENTORY_HOME", str(home.settings.home))
    command = ["backfill", "tables", home.run(), "--out", str(tmp_path / "out")]

    first = CliRunner().invoke(app, [*command, "--json"])
    second = CliRunner().invoke(app, command)
    log = CliRunner().invoke(app, ["backfill", "tables", "none", "--json"])

    report = json.loads(first.stdout)
    assert (report["partitions_written"], report["rows"]["states"]) == (6, 9)
    assert report["directories"] == {"run": str(tmp_path / "out"), "log": str(tmp_path / "out")}
    assert "all partitions exist already, so nothing was written" in second.stdout
    assert "states" not in json.loads(log.stdout)["rows"]


def test_while_a_run_computes_the_newest_finished_one_answers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = a_home(tmp_path / "home", a_history(steps=20))
    finished, computing = home.run(), home.run(two_runs.lower_floor)
    (runs_dir(home.settings) / computing / RUN_FILE).unlink()
    monkeypatch.setenv("INVENTORY_HOME", str(home.settings.home))

    done = CliRunner().invoke(app, ["sql", "--history", "SELECT count(*) AS keys FROM states"])

    assert done.stdout.split() == ["keys", "9"]
    assert f"run {computing} is unfinished; the tables show run {finished}" in done.stderr


def test_without_a_run_the_log_is_queried_and_the_next_step_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = a_home(tmp_path / "home", a_history(steps=20))
    monkeypatch.setenv("INVENTORY_HOME", str(home.settings.home))

    done = CliRunner().invoke(app, ["sql", "--history", "SELECT count(*) AS n FROM sales"])

    assert done.stdout.startswith("n")
    assert "no run exists yet, so only the tables of the log are there" in done.stderr

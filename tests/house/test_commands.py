"""Makefile targets and CLI commands exist as documented, each with a line of help."""

import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from deploy.cli.main import app, main
from deploy.stack.home import PROJECT

TARGETS = ("help", "demo", "test", "check", "faults", "bench", "docs", "lock", "down", "clean")
VERBS = (
    "up",
    "down",
    "restart",
    "hold",
    "status",
    "logs",
    "doctor",
    "move",
    "prune",
    "reset",
    "simulate",
    "import-sales",
    "import-codes",
    "explain",
    "sales",
    "sql",
    "generation",
    "capture",
    "query",
    "workers",
    "revision",
    "fetch",
    "demo",
    "verify",
    "backfill",
    "rejected",
    "audit",
    "leaks",
    "fold",
    "bench",
)


# Packages that take long to import. A command that doesn't need them must not import them.
HEAVY = {
    "aiokafka",
    "confluent_kafka",
    "django",
    "duckdb",
    "faust",
    "httpx",
    "numpy",
    "psycopg",
    "pyarrow",
    "pydantic_settings",
    "pyspark",
}


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 -- fixed commands
        command, cwd=PROJECT, capture_output=True, text=True, check=False
    )


def test_make_help_lists_every_target() -> None:
    listed = {line.split()[0] for line in run("make", "help").stdout.splitlines()}

    assert set(TARGETS) <= listed


def test_recipes_of_the_makefile_are_thin() -> None:
    text = (PROJECT / "Makefile").read_text(encoding="utf-8")
    recipes = re.findall(r"^(\S+):.*\n((?:\t.*\n)*)", text, re.MULTILINE)

    assert {name: body.count("\n") for name, body in recipes if body.count("\n") > 5} == {}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb: str) -> None:
    result = CliRunner().invoke(app, [verb, "--help"])

    assert result.exit_code == 0, result.output
    assert "Usage" in result.output


@pytest.mark.parametrize(
    ("arguments", "named", "expected"),
    [
        (("up", "--workers", "0"), "--workers 0", "1 to 12"),
        (("up", "--only", "postgres,kafak"), "'kafak'", "kafka"),
        (("up", "--seed-data", "tons"), "'tons'", "none or demo"),
        (("simulate", "--rate", "-1"), "--rate -1", "above 0"),
        (("import-sales", "/no/such/file.csv"), "/no/such/file.csv", "Online Retail"),
        (("import-codes", "/no/such/file.csv"), "/no/such/file.csv", "does not exist"),
        (("fold", "--every", "0"), "--every 0", "1 or more"),
        (("sales", "S", "--location", "L", "--hops", "0"), "--hops 0", "1 to 1008"),
        (("logs", "--lines", "-5"), "--lines -5", "0 or more"),
        (("bench", "pipeline", "--rates", "2000,0"), "'2000,0'", "above 0"),
        (("bench", "pipeline", "--rates", "fast"), "'fast'", "whole numbers"),
        (("bench", "pipeline", "--seconds", "0"), "--seconds 0", "1 to 86400 seconds"),
        (("bench", "pipeline", "--latency-rate", "0"), "--latency-rate 0", "1 or more"),
        (("bench", "pipeline", "--warm-up", "-1"), "--warm-up -1", "0 to 86400 seconds"),
        (("bench", "fold", "/no/such/file.csv"), "/no/such/file.csv", "Online Retail"),
        (("bench", "fold", "--keys", "many"), "'many'", "whole numbers"),
        (("bench", "fold", "--rounds", "0"), "--rounds 0", "1 or more"),
        (("bench", "fold", "--stores", "two"), "'two'", "single or country"),
        (("bench", "fold", "--limit", "0"), "--limit 0", "1 or more"),
        (("bench", "pipeline", "--seconds", "inf"), "--seconds inf", "1 to 86400 seconds"),
        (
            ("bench", "policy", "--items", "3"),
            "--items 3",
            "4 or more, so that each class has an item",
        ),
        (("bench", "policy", "--days", "0"), "--days 0", "1 to 36500"),
        (("bench", "restore", "--keys", "3"), "--keys 3", "12 or more"),
        (("bench", "simulate", "--seeds", "0"), "--seeds 0", "1 or more"),
        (("bench", "simulate", "--start", "-1"), "--start -1", "0 or more"),
        (("bench", "simulate", "--keep", "0;1"), "'0;1'", "like 0,3/1"),
        (("bench", "simulate", "--keep", "-1/-"), "'-1/-'", "like 0,3/1"),
        (("bench", "faults", "--rounds", "0"), "--rounds 0", "1 or more"),
        (("bench", "faults", "--freeze", "nan"), "--freeze nan", "0 to 86400 seconds"),
        (("bench", "faults", "--every", "-1"), "--every -1", "0 to 86400 seconds"),
        (("bench", "faults", "--kinds", "kill,fire"), "'fire'", "kill, kill-all, freeze"),
        (("bench", "peers", "--peers", "flink"), "'flink'", "commas between them: engine"),
        (("bench", "peers", "--keys", "0"), "--keys 0", "1 or more"),
        (("bench", "peers", "--timeout", "nan"), "--timeout nan", "1 to 86400 seconds"),
        (("import-sales", __file__, "--stores", "two"), "'two'", "single or country"),
        (("import-sales", __file__, "--rate", "nan"), "--rate 'nan'", "above 0, or max"),
        (("import-sales", __file__, "--limit", "0"), "--limit 0", "1 or more"),
        (("verify", "--timeout", "nan"), "--timeout nan", "1 to 86400 seconds"),
        (("workers", "rebuild", "--timeout", "0"), "--timeout 0", "1 to 86400 seconds"),
        (("workers", "scale", "13"), "13 workers", "1 to 12"),
        (("query", "nokey"), "'nokey'", "LOCATION|SKU"),
        (("query", "L|S", "--wait", "-1"), "--wait -1", "0 to 86400 seconds"),
        (("backfill", "run", "--engine", "flink"), "'flink'", "local or spark"),
        (("backfill", "run", "--buckets", "0"), "--buckets 0", "1 or more"),
        (("backfill", "run", "--code", "/no/tree"), "'/no/tree'", "this project's sources"),
        (("backfill", "publish", "last", "--code", "/no/tree"), "'/no/tree'", "this project's"),
        (("backfill", "verify", "--engine", "flink"), "'flink'", "local or spark"),
        (("people", "invite", "ben", "--url", "shop.example"), "'shop.example'", "https://"),
        (("people", "add", "ben", "--url", "https://"), "'https://'", "https://shop.example"),
        (("rejected", "list", "--limit", "0"), "--limit 0", "1 to 1000000"),
        (("rejected", "list", "--limit", f"{2**63}"), f"--limit {2**63}", "1 to 1000000"),
        (("sql", "SELECT 1", "--csv", "--json"), "--csv and --json", "one of these"),
    ],
)
def test_a_wrong_argument_is_named_with_the_expected_form(
    arguments, named, expected, monkeypatch, capsys
) -> None:
    monkeypatch.setattr(sys, "argv", ["inventory", *arguments])

    with pytest.raises(SystemExit) as ended:
        main()

    told = " ".join(capsys.readouterr().err.split())
    assert ended.value.code == 1
    assert named in told
    assert expected in told


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("up", "--workers", "many"), "'--workers': 'many': Input should be a valid integer"),
        (("revision", "retire", "0"), "'N': '0': Input should be greater than or equal to 1"),
        (("query",), "Missing argument 'KEY'"),
        (("fly",), "No such command 'fly'"),
    ],
)
def test_errors_of_the_argument_parser_name_the_wrong_argument(arguments, told) -> None:
    result = CliRunner().invoke(app, arguments)

    assert result.exit_code == 2
    assert told in " ".join(re.sub("[│╭╮╰╯─]", " ", result.stderr).split())


def test_the_command_line_starts_without_importing_heavy_packages() -> None:
    loaded = run(sys.executable, "-c", "import deploy.cli.main, sys; print(*sys.modules)").stdout

    assert HEAVY.isdisjoint(loaded.split())


def test_an_argument_with_other_bytes_than_utf_8_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Postgres stores text in UTF-8 only."""
    monkeypatch.setattr(sys, "argv", ["inventory", "rejected", "show", "1-0-\udcff"])
    monkeypatch.setattr("deploy.cli.records.load_environment", dict)
    monkeypatch.setattr("deploy.cli.records._rows", lambda *sent: sent[-1]["id"].encode())

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 1
    assert capsys.readouterr().err == "error: '1-0-\\udcff': expected an argument in UTF-8\n"

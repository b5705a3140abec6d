"""Makefile and command line offer what they promise, each with a line of help."""

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
    "status",
    "logs",
    "doctor",
    "reset",
    "simulate",
    "import-sales",
    "explain",
    "sales",
    "sql",
    "verify",
    "backfill",
    "rejected",
    "fold",
    "bench",
)


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
        (("fold", "--every", "0"), "--every 0", "1 or more"),
        (("sales", "S", "--location", "L", "--hops", "0"), "--hops 0", "1 to 1008"),
        (("logs", "--lines", "-5"), "--lines -5", "0 or more"),
        (("bench", "pipeline", "--rates", "2000,0"), "'2000,0'", "above 0"),
        (("bench", "pipeline", "--rates", "fast"), "'fast'", "whole numbers"),
        (("bench", "pipeline", "--seconds", "0"), "--seconds 0", "1 or more"),
        (("bench", "pipeline", "--latency-rate", "0"), "--latency-rate 0", "1 or more"),
        (("bench", "fold", "/no/such/file.csv"), "/no/such/file.csv", "Online Retail"),
        (("bench", "fold", "--keys", "many"), "'many'", "whole numbers"),
        (("bench", "fold", "--rounds", "0"), "--rounds 0", "1 or more"),
        (("bench", "fold", "--stores", "two"), "'two'", "single or country"),
    ],
)
def test_a_wrong_argument_is_named_with_the_expected_form(
    arguments, named, expected, monkeypatch, capsys
) -> None:
    monkeypatch.setattr(sys, "argv", ["inventory", *arguments])

    with pytest.raises(SystemExit) as ended:
        main()

    told = capsys.readouterr().err
    assert ended.value.code == 1
    assert named in told
    assert expected in told

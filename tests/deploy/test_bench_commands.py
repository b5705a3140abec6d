"""Commands of `inventory bench` that need no stack, on their smallest inputs."""

import json
import os
import re
import subprocess
import sys
from subprocess import CompletedProcess

import pytest
from typer.testing import CliRunner

from deploy import compiled_rules
from deploy.cli.main import app
from deploy.stack.home import PROJECT


@pytest.mark.parametrize(
    ("line", "told", "named"),
    [
        ("restore --keys 12", "12 keys in 12 partitions", "keys"),
        ("policy --items 4 --days 1", "all items", "results"),
        ("simulate --seeds 1", "1 seeds from 0 in ", "seeds"),
    ],
)
def test_a_report_is_for_people_and_with_json_for_programs(line, told, named) -> None:
    shown = CliRunner().invoke(app, ["bench", *line.split()])
    parsed = CliRunner().invoke(app, ["bench", *line.split(), "--json"])

    assert (shown.exit_code, parsed.exit_code) == (0, 0), shown.output + parsed.output
    assert told in shown.stdout
    assert named in json.loads(parsed.stdout)


def test_a_fold_is_timed_by_a_process_of_its_own(tmp_path) -> None:
    """Use another process: a bench sets Python's garbage collector to run rarely."""
    command = [sys.executable, "-m", "deploy.cli.main", "bench", "fold", "--keys", "12"]
    command += ["--rounds", "1"]
    environment = os.environ | {"INVENTORY_HOME": str(tmp_path)}

    shown, parsed = (
        subprocess.run(  # noqa: S603 -- our own command
            [*command, *more],
            cwd=PROJECT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        for more in ((), ("--json",))
    )

    assert (shown.returncode, parsed.returncode) == (0, 0), shown.stderr + parsed.stderr
    assert re.search(r"^retailer +12 +12 ", shown.stdout, re.MULTILINE)
    [case] = json.loads(parsed.stdout)["cases"]
    assert (case["name"], case["keys"], case["records"]) == ("retailer", 12, 12)


def test_a_seed_is_replayed_with_chosen_steps() -> None:
    result = CliRunner().invoke(app, ["bench", "simulate", "--start", "3", "--keep", "0/-"])

    assert (result.exit_code, result.stdout) == (0, "nothing is violated\n")


def test_compiled_rules_are_measured_by_a_process_that_takes_them(monkeypatch, tmp_path) -> None:
    begun: list[tuple[list[str], dict[str, str]]] = []

    def run(command: list[str], *, env: dict[str, str], check: bool) -> CompletedProcess[bytes]:
        assert not check
        begun.append((command, env))
        return CompletedProcess(command, 3)

    monkeypatch.setattr(compiled_rules, "ensure", lambda home: home / "rules")
    monkeypatch.setattr(compiled_rules, "environment", lambda _: {"PYTHONPATH": "rules"})
    monkeypatch.setattr("deploy.cli.bench_fold.subprocess.run", run)
    monkeypatch.setenv("INVENTORY_HOME", str(tmp_path))

    options = ["--keys", "7", "--rounds", "2", "--seed", "0", "--json"]
    ended = CliRunner().invoke(app, ["bench", "fold", *options, "--compiled"])

    [(command, variables)] = begun
    assert (ended.exit_code, variables["PYTHONPATH"]) == (3, "rules")
    assert command[3:] == ["bench", "fold", "--stores", "single", *options]

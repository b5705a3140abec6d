"""Commands of `inventory bench` that need no stack, on their smallest inputs."""

import json
import os
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from bench.errors import BenchFailed
from deploy.cli import main
from deploy.cli.bench_backfill import ENGINES
from deploy.cli.main import app
from deploy.errors import StackError
from deploy.stack.home import PROJECT

pytestmark = pytest.mark.engines


@pytest.mark.parametrize(
    ("line", "told", "named"),
    [
        ("restore --keys 12", "12 keys in 12 partitions", "keys"),
        ("policy --items 4 --days 1", "all items", "results"),
        ("simulate --seeds 1", "1 seeds from 0 in ", "seeds"),
    ],
)
def test_a_bench_report_is_printed_as_text_or_as_json(line, told, named) -> None:
    shown = CliRunner().invoke(app, ["bench", *line.split()])
    parsed = CliRunner().invoke(app, ["bench", *line.split(), "--json"])

    assert (shown.exit_code, parsed.exit_code) == (0, 0), shown.output + parsed.output
    assert told in shown.stdout
    assert named in json.loads(parsed.stdout)


def test_bench_fold_reports_its_case_as_text_and_as_json(tmp_path) -> None:
    """The bench needs a separate process, because it makes the garbage collector run rarely."""
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


def test_a_generated_history_is_recomputed_and_compared_with_a_fold(tmp_path) -> None:
    command = [sys.executable, "-m", "deploy.cli.main", "bench", "backfill"]
    command += ["--records", "500", "--keys", "60", "--engines", "local", "--no-rivals"]
    command += ["--archive", str(tmp_path / "kept"), "--json"]

    done = subprocess.run(  # noqa: S603 -- our own command
        command, cwd=PROJECT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    [size] = json.loads(done.stdout)["sizes"]
    assert (size["records"], size["keys"], len(size["folds_per_s"])) == (500, 60, 2)
    assert [each["name"] for each in size["engines"]] == ["local"]
    assert all(0 < each["computing_s"] < each["cpu_s"] for each in size["engines"])
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["records-500-keys-60-1"]
    assert re.search(r"^500 records: local: [\d.]+ s, ", done.stderr, re.MULTILINE)


@pytest.mark.soak
def test_every_engine_and_every_rival_gives_the_same_result(tmp_path) -> None:
    line = "bench backfill --records 2000 --keys 60 --json"

    done = CliRunner().invoke(app, line.split())

    assert done.exit_code == 0, done.output
    [size] = json.loads(done.stdout)["sizes"]
    assert [each["name"] for each in size["engines"]] == [*ENGINES]
    assert {"dict", "groupBy"} <= {each["name"] for each in size["sums"]}
    assert all("is not installed" in reason for reason in size["skipped"])


def test_an_unknown_engine_of_a_benchmark_is_named() -> None:
    result = CliRunner().invoke(app, ["bench", "backfill", "--engines", "local,cluster-9"])

    assert isinstance(result.exception, StackError)
    assert "--engines 'cluster-9': expected one of local, local[2]" in str(result.exception)


def test_a_seed_is_replayed_with_chosen_steps() -> None:
    result = CliRunner().invoke(app, ["bench", "simulate", "--start", "3", "--keep", "0/-"])

    assert (result.exit_code, result.stdout) == (0, "no check failed\n")


def test_a_failed_bench_is_an_error_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing() -> None:
        message = "kafka has ended"
        raise BenchFailed(message)

    monkeypatch.setattr(main, "app", failing)

    with pytest.raises(SystemExit) as ended:
        main.main()

    assert ended.value.code == 1
    assert capsys.readouterr().err == "error: kafka has ended\n"

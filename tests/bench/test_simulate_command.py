"""Output and exit codes of `inventory bench simulate`."""

import json
import os
import re
import signal
import subprocess
import sys
import weakref
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bench import simulate
from bench.simulation import batches
from deploy.cli.main import app
from deploy.stack.processes import wait_until
from streams.worker import runtime

pytestmark = pytest.mark.engines


def ran(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["bench", "simulate", *arguments])
    assert re.search(r", commit \S+, load \d+\.\d$", done.stderr.strip())
    return done.exit_code, done.stdout


def test_the_command_runs_seeds_and_counts_them() -> None:
    code, text = ran("--seeds", "60")
    assert code == 0
    assert text.startswith("60 seeds from 0 in ")
    assert text.endswith(", 0 failed\n")

    code, text = ran("--seed", "7")
    assert text.startswith("1 seeds from 7 in ")

    code, text = ran("--seeds", "20", "--start", "7", "--workers", "2", "--json")

    assert code == 0
    assert json.loads(text) | {"seconds": 0} == {
        "start": 7, "seeds": 20, "seconds": 0, "failed": 0, "found": []
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--seeds", "0"], "--seeds 0"),
        (["--keep", "1"], "expected numbers of steps and faults"),
        (["--keep", "a/b"], "expected numbers of steps and faults"),
        (["--keep", "999/99"], "--keep '999/99': this seed has "),
        (["--keep", "0/99"], "faults, from 0 on"),
    ],
)
def test_invalid_options_of_bench_simulate_are_refused(arguments: list[str], said: str) -> None:
    done = CliRunner().invoke(app, ["bench", "simulate", *arguments])

    assert said in str(done.exception)


async def sends_nothing(*_: object) -> int:
    return 0


def test_a_failing_seed_is_shortened_and_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "republish_open", sends_nothing)
    code, text = ran("--seeds", "40", "--json")  # of which about ten fail
    found = json.loads(text[text.index("{") :])["found"][0]
    command = found["command"].split()

    assert code == 1
    assert found["promise"].startswith("violated guarantee: outputs of a skipped replay")
    code, text = ran(*command[3:])
    assert code == 1
    assert f"replay: {found['command']}" in text
    assert "timers of all workers are due" in text
    monkeypatch.undo()
    assert ran(*command[3:]) == (0, "no check failed\n")


# In the background of a script, processes begin with SIGINT ignored.
SMALL = """
import signal
from bench import simulate
simulate._BATCH, simulate._REPORT_S = 5, 0.0
from deploy.cli.main import main
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main()
"""


def begun(workers: int, place: Path) -> subprocess.Popen[str]:
    script = place / "small.py"  # a file, because spawned processes import it too
    script.write_text(SMALL)
    # Without coverage: its SIGTERM handler may interrupt its own code and wait for a lock for ever.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    return subprocess.Popen(  # noqa: S603 -- our own command
        [sys.executable, script, "bench", "simulate", "--seeds", "9999", "--workers", str(workers)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**kept, "PYTHONPATH": str(Path.cwd())},
    )  # fmt: skip


def members(group: int) -> list[int]:
    """Return the pids of the living processes of a process group."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.soak), 2])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_run_prints_its_progress_and_leaves_no_process(
    tmp_path: Path, workers: int, number: signal.Signals
) -> None:
    process = begun(workers, tmp_path)
    assert process.stderr is not None
    told = process.stderr.readline()

    (os.killpg if number is signal.SIGINT else os.kill)(process.pid, number)
    shown, errors = process.communicate(timeout=120)

    assert told.startswith("5 seeds, 0 failed")
    assert wait_until(lambda: members(process.pid) == [], timeout_s=60)
    if number is signal.SIGKILL:
        return
    assert process.returncode == 130
    assert "Traceback" not in errors
    found = re.fullmatch(
        r"(\d+) seeds from 0 in .*, 0 failed; continue with --start (\d+)\n", shown
    )
    assert found is not None
    assert found[1] == found[2]
    assert int(found[1]) >= 5


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_a_destructor_ends_the_run(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """If a destructor raises an exception, Python only prints it and continues."""

    def interrupted(_batch: tuple[int, int]) -> list[int]:
        ended = weakref.finalize({1}, lambda: os.kill(os.getpid(), number))
        assert not ended.alive  # nothing else refers to the set, so the finalizer has run
        return []

    monkeypatch.setattr(simulate, "_BATCH", 1)
    monkeypatch.setattr(batches, "failing_seeds", interrupted)

    report = simulate.run(start=0, seeds=3, workers=1, progress=lambda _: None)

    assert (report.seeds, report.is_cut_off, report.exit_code) == (1, True, 130)


def test_a_long_run_reports_its_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulate, "_REPORT_S", 0.0)
    told: list[str] = []

    simulate.run(start=0, seeds=2, workers=1, progress=told.append)

    assert [line.split(",")[0] for line in told] == ["2 seeds"]

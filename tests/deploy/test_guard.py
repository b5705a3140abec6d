"""The guard of a container repairs its child as the local supervisor does. No test uses Docker."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deploy import guard
from deploy.compose_services.infrastructure import repairing_check
from deploy.stack.home import PROJECT
from deploy.stack.processes import ProcessId, alive, identify, suspended, wait_until
from tests.deploy.children import SLEEP

pytestmark = pytest.mark.engines

LOOKS = 3
MUTE = "sh -c 'exit 2'"
# This server answers /livez until SIGUSR1. At the second request it writes its pid to a file. The
# file shows that the guard has received the first answer.
SERVER = """
import http.server, os, pathlib, signal, sys, time
class Answers(http.server.BaseHTTPRequestHandler):
    asked = 0
    def do_GET(self):
        Answers.asked += 1
        if Answers.asked == 2:
            pathlib.Path(sys.argv[2]).write_text(str(os.getpid()))
        self.send_response(200); self.end_headers()
    def log_message(self, *_): pass
server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Answers)
signal.signal(signal.SIGUSR1, lambda *_: time.sleep(600))
server.serve_forever()
"""
Start = Callable[..., tuple[subprocess.Popen[bytes], ProcessId]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a guarded web service; the limits are fractions of a second."""
    guards: list[subprocess.Popen[bytes]] = []
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    pid = tmp_path / "pid"

    def started(**limits: str) -> tuple[subprocess.Popen[bytes], ProcessId]:
        environment = os.environ | {"INVENTORY_WEB_PORT": str(port), "GUARD_EVERY_S": "0.1"}
        command = (sys.executable, "-c", SERVER, str(port), str(pid))
        process = subprocess.Popen(  # noqa: S603 -- our own program
            [sys.executable, "-m", "deploy.guard", "web", "--", *command],
            cwd=PROJECT,
            env=environment | {f"GUARD_{name}": value for name, value in limits.items()},
        )
        guards.append(process)
        assert wait_until(lambda: pid.exists() and pid.read_text() != "", timeout_s=120)
        return process, identify(int(pid.read_text()))

    yield started
    for process in guards:
        process.terminate()
        process.wait(60)


def test_the_guard_resumes_a_suspended_child(start: Start) -> None:
    guarded, child = start(SUSPENDED_S="0.3")

    os.kill(child.pid, signal.SIGSTOP)

    assert wait_until(lambda: suspended(child), timeout_s=60)
    assert wait_until(lambda: not suspended(child), timeout_s=60)
    assert alive(child)
    assert guarded.poll() is None


def test_a_child_that_answers_no_more_is_ended_with_its_guard(start: Start) -> None:
    guarded, child = start(SILENT_S="0.5")

    with contextlib.suppress(ProcessLookupError):  # on a busy machine it may have ended already
        os.kill(child.pid, signal.SIGUSR1)

    assert guarded.wait(120) == guard.SILENT
    assert not alive(child)


def test_a_child_that_is_killed_ends_the_guard(start: Start) -> None:
    guarded, child = start()

    os.kill(child.pid, signal.SIGKILL)

    assert guarded.wait(60) == 128 + signal.SIGKILL


def test_a_guard_that_is_asked_to_stop_asks_its_child(start: Start) -> None:
    guarded, child = start()

    guarded.terminate()

    assert guarded.wait(60) == 128 + signal.SIGTERM
    assert not alive(child)


def test_a_command_without_a_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert guard.main(["--", "python"]) == guard.USAGE
    assert "expected: python -m deploy.guard NAME" in capsys.readouterr().err


@pytest.fixture
def sleeper() -> Iterator[ProcessId]:
    child = subprocess.Popen(SLEEP)  # noqa: S603 -- our own program
    yield identify(child.pid)
    child.kill()
    child.wait()


def look(sleeper: ProcessId, count: Path, probe: str) -> int:
    """Run the health check of a third-party service once. Return its exit code."""
    check = repairing_check(probe, answered="1", failures=LOOKS)
    environment = {"GUARDED": str(sleeper.pid), "SILENT": str(count), "PATH": os.environ["PATH"]}
    return subprocess.call(["/bin/sh", "-c", check], env=environment)  # noqa: S603 -- our own text


def test_a_health_check_resumes_its_service_and_kills_it_after_repeated_failures(
    sleeper: ProcessId, tmp_path: Path
) -> None:
    count = tmp_path / "silent"
    os.kill(sleeper.pid, signal.SIGSTOP)
    assert wait_until(lambda: suspended(sleeper), timeout_s=60)

    codes = [look(sleeper, count, "true"), look(sleeper, count, MUTE)]
    goes_on = wait_until(lambda: not suspended(sleeper), timeout_s=60)
    codes += [look(sleeper, count, MUTE) for _ in range(LOOKS - 2)]
    is_alive = alive(sleeper)
    codes.append(look(sleeper, count, MUTE))

    assert goes_on
    assert is_alive
    assert codes == [0, *[1] * LOOKS]
    assert wait_until(lambda: not alive(sleeper), timeout_s=60)


def test_one_answer_resets_the_failure_count_of_a_health_check(
    sleeper: ProcessId, tmp_path: Path
) -> None:
    count = tmp_path / "silent"
    for probe in (*[MUTE] * (LOOKS - 1), "false", MUTE):
        look(sleeper, count, probe)

    assert alive(sleeper)
    assert count.read_text().count("\n") == 1


@pytest.mark.parametrize(("given", "expected"), [(None, "3"), ("7", "7")])
def test_a_guarded_child_gets_the_generation_of_the_volume_as_a_variable(
    tmp_path: Path, given: str | None, expected: str
) -> None:
    (tmp_path / "generation.json").write_text('{"number": 3, "captured": true, "own_rules": ""}')
    program = "import os; print(os.environ['INVENTORY_GENERATION'])"
    mine = {"INVENTORY_HOME": str(tmp_path)}
    mine |= {"INVENTORY_GENERATION": given} if given else {}
    others = {k: v for k, v in os.environ.items() if not k.startswith("INVENTORY_")}

    done = subprocess.run(  # noqa: S603 -- our own program
        [sys.executable, "-m", "deploy.guard", "heartbeat", "--", sys.executable, "-c", program],
        cwd=PROJECT,
        env=others | mine,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout == f"{expected}\n", done.stderr

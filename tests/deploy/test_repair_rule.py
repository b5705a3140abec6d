"""A suspended or silent process is repaired, and a healthy one is not."""

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from deploy.stack import report
from deploy.stack.home import Home
from deploy.stack.processes import ProcessId, identify, suspended, wait_until
from deploy.stack.repair_rule import Repair, RepairRule
from deploy.stack.repair_thread import RepairThread
from deploy.stack.requested import RequestedState, write_requested
from deploy.stack.runtime import Runtime, read_runtime, write_runtime
from deploy.stack.service import Service, ServiceProbe
from deploy.stack.supervisor import Supervisor
from tests.deploy.children import SLEEP

NONE, CONTINUE, RESTART = Repair.NONE, Repair.CONTINUE, Repair.RESTART


def looks(watch: RepairRule, *seen: tuple[float, bool, bool | None]) -> list[Repair]:
    return [
        watch.due_repair(now, suspended=stopped, answer=answer) for now, stopped, answer in seen
    ]


def test_a_silent_process_is_restarted_after_its_limit_and_not_before() -> None:
    watch = RepairRule(silent_s=20.0)

    found = looks(
        watch, (0, False, True), (5, False, False), (19, False, False), (20, False, False)
    )

    assert found == [NONE, NONE, NONE, RESTART]
    assert watch.reason == "no answer for 20 s"


def test_an_answer_or_an_unknown_answer_resets_the_silence_limit() -> None:
    watch = RepairRule(silent_s=20.0)

    found = looks(
        watch,
        *((0, False, True), (15, False, False), (16, False, None), (35, False, False)),
        *((36, False, False), (40, False, True), (59, False, False)),
    )

    assert found == [NONE, NONE, NONE, NONE, RESTART, NONE, NONE]


def test_a_suspended_process_is_continued_and_restarted_if_that_does_not_help() -> None:
    watch = RepairRule(silent_s=60.0, suspended_s=15.0)

    found = looks(watch, *((now, True, None) for now in (0, 10, 15, 20, 29, 30)))

    assert found == [NONE, NONE, CONTINUE, NONE, NONE, RESTART]


def test_a_delayed_check_does_not_count_as_silence_of_the_process() -> None:
    watch = RepairRule(silent_s=20.0)

    assert looks(watch, (0, False, True), (500, False, False)) == [NONE, NONE]


@pytest.fixture
def supervisor(home: Home) -> Iterator[Supervisor]:
    me = identify(os.getpid())
    runtime = Runtime(phase="ready", supervisor_pid=me.pid, supervisor_ticks=me.started)
    made = Supervisor(home, runtime)
    loop = threading.Thread(target=made.run)
    loop.start()
    yield made
    made.stop()
    loop.join(60)


def serving(
    home: Home, supervisor: Supervisor, *, answers: bool, alive: ServiceProbe | None = None
) -> ProcessId:
    """Start a process, mark it as ready, and return its id.

    Its probe returns `answers`, or the result of `alive` if given.
    """
    mute = Service(
        "web",
        SLEEP,
        dict(os.environ),
        home.path,
        lambda _pid: True,
        0,
        alive=alive or (lambda _pid: answers),
    )
    supervisor.want(mute)
    assert wait_until(lambda: supervisor.pid_of("web") is not None, timeout_s=60)
    supervisor.mark_ready("web")
    return supervisor.processes(ready=True)[0][1]


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expire every limit at the second check."""
    monkeypatch.setattr("deploy.stack.repair_rule.SUSPENDED_S", 0.0)
    monkeypatch.setattr("deploy.stack.repair_thread.silent_limit_s", lambda _name: 0.0)


@pytest.mark.usefixtures("at_once")
def test_the_supervisor_starts_a_silent_service_again_and_counts_it(
    home: Home, supervisor: Supervisor
) -> None:
    before = serving(home, supervisor, answers=False)

    RepairThread(home, supervisor).probe_all()

    assert wait_until(lambda: supervisor.pid_of("web") not in (None, before.pid), timeout_s=60)
    entry = supervisor.runtime.services["web"]
    assert (entry.restarts, entry.repairs) == (1, 1)
    assert entry.last_repair == "restart: no answer for 0 s"


@pytest.mark.usefixtures("at_once")
def test_a_probe_that_fails_itself_restarts_nothing_and_ends_no_thread(
    home: Home, supervisor: Supervisor
) -> None:
    def broken(_pid: int) -> bool:
        message = "an address without a port"
        raise ValueError(message)

    process = serving(home, supervisor, answers=True, alive=broken)

    RepairThread(home, supervisor).probe_all()

    assert supervisor.processes(ready=True)[0][1] == process
    assert supervisor.runtime.services["web"].repairs == 0


def test_the_repair_thread_resumes_a_suspended_service(home: Home, supervisor: Supervisor) -> None:
    process = serving(home, supervisor, answers=True)
    os.kill(process.pid, signal.SIGSTOP)
    assert wait_until(lambda: suspended(process), timeout_s=60)
    repairs = RepairThread(home, supervisor)
    repairs._watches[process] = RepairRule(silent_s=60.0, suspended_s=0.0)

    repairs.probe_all()

    assert wait_until(lambda: not suspended(process), timeout_s=60)
    assert supervisor.runtime.services["web"].last_repair.startswith("SIGCONT: suspended")
    assert supervisor.pid_of("web") == process.pid


@pytest.mark.usefixtures("at_once")
def test_a_service_that_a_person_holds_is_left_alone(home: Home, supervisor: Supervisor) -> None:
    process = serving(home, supervisor, answers=False)
    write_requested(home, RequestedState(1, held=["web"]))

    RepairThread(home, supervisor).probe_all()

    assert supervisor.pid_of("web") == process.pid
    assert supervisor.runtime.services["web"].repairs == 0


def test_read_runtime_returns_the_live_report_of_the_supervisor(
    home: Home, supervisor: Supervisor
) -> None:
    write_runtime(home, supervisor.runtime)
    report.Reporter(home, supervisor.report).start()
    home.runtime_file.chmod(0o400)
    serving(home, supervisor, answers=True)
    supervisor.note(error="the disk takes nothing")

    assert read_runtime(home).error == "the disk takes nothing"
    assert read_runtime(home).services["web"].state == "running"
    supervisor.note(error="")


def test_no_other_process_answers_for_a_supervisor(home: Home) -> None:
    report.Reporter(home, dict).start()

    assert report.query(home, ProcessId(1, 0)) is None

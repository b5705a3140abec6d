"""Starting a stack in the background, waiting for it, and ending it."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, Final

from deploy.errors import StackError
from deploy.stack import observe
from deploy.stack.context import Options
from deploy.stack.generation import generation_of
from deploy.stack.home import PROJECT, Home
from deploy.stack.last_words import words_of
from deploy.stack.processes import ask, end, wait_until
from deploy.stack.runtime import Runtime, read_runtime, write_runtime

Say = Callable[[dict[str, Any]], None]

_POLL_S: Final = 0.1
_START_S: Final = 900.0
_STOP_S: Final = 60.0
_SERVE_S: Final = 120.0


def daemon_command(home: Home, options: Options) -> list[str]:
    """Command line of the supervisor's process."""
    command = [sys.executable, "-m", "deploy.stack.daemon", str(home.path)]
    command += ["--workers", str(options.workers), "--seed-data", options.seed_data]
    command += ["--only", ",".join(options.only)] if options.only else []
    command += ["--demo"] if options.demo else []
    for name, port in options.ports.items():
        command += ["--port", f"{name}={port}"]
    return command


def start_detached(home: Home, options: Options, say: Say = lambda _: None) -> Runtime:
    """Start the supervisor as a daemon and return once the whole stack is ready.

    Returns the runtime of the stack that already runs if there is one, when each of its services
    does its work.

    Raises:
        StackError: it did not become ready; the message says what and where.
    """
    options.check()
    current = read_runtime(home)
    if current.running and current.phase in ("starting", "ready"):
        wait_ready(home, say)
        return _wait_serving(home)
    home.create()
    environment = os.environ | {"INVENTORY_HOME": str(home.path)}
    with home.log_of("supervisor").open("ab") as log:
        daemon = subprocess.Popen(  # noqa: S603 -- our own module
            daemon_command(home, options),
            cwd=PROJECT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    started = wait_until(
        lambda: read_runtime(home).supervisor_pid == daemon.pid or daemon.poll() is not None,
        timeout_s=_STOP_S,
    )
    if not started or (
        daemon.poll() is not None and read_runtime(home).supervisor_pid != daemon.pid
    ):
        tail = home.log_of("supervisor").read_text(encoding="utf-8", errors="replace")[-800:]
        message = f"the supervisor did not start:\n{tail}"
        raise StackError(message, repair="inventory logs supervisor")
    return wait_ready(home, say)


def _wait_serving(home: Home) -> Runtime:
    """Return when no service of a ready stack is on its way any more.

    Raises:
        StackError: a service doesn't do its work for another reason, or not in time.
    """
    deadline = time.monotonic() + _SERVE_S
    while True:
        seen = observe.look(home)
        waiting = [name for name in seen.unwell if seen.states[name] in observe.ON_ITS_WAY]
        if not waiting:
            return _without_halted(seen.runtime)
        if time.monotonic() > deadline:
            message = f"{', '.join(waiting)} do not do their work after {_SERVE_S:.0f} s"
            raise StackError(message, repair="inventory down && inventory up --detach")
        time.sleep(_POLL_S)


def _without_halted(runtime: Runtime) -> Runtime:
    """Return the runtime.

    Raises:
        StackError: a service keeps ending, and its log names the repair. The others run.
    """
    for name, entry in runtime.services.items():
        words = words_of(entry)
        if entry.state == "restarting" and words.repair:
            message = f"{name} keeps ending: {words.problem}. All other services run"
            raise StackError(message, repair=words.repair)
    return runtime


def wait_ready(home: Home, say: Say = lambda _: None) -> Runtime:
    """Follow a starting stack until it is ready.

    Raises:
        StackError: it failed, a service of it keeps ending, or it took too long.
    """
    deadline = time.monotonic() + _START_S
    told = 0
    while True:
        runtime = read_runtime(home)
        for step in runtime.steps[told:]:
            say(step)
        told = len(runtime.steps)
        if runtime.phase == "ready" and runtime.running:
            return _without_halted(runtime)
        if runtime.phase == "failed" or not runtime.running:
            message = runtime.error or "the supervisor ended"
            raise StackError(message, repair=runtime.repair or "inventory logs supervisor")
        # The capture of a generation takes as long as it takes; the supervisor knows its limit.
        if time.monotonic() > deadline and generation_of(home).captured:
            message = f"the stack is still starting after {_START_S:.0f} s"
            raise StackError(message, repair="inventory down && inventory up --detach")
        time.sleep(_POLL_S)


def wait_down(home: Home) -> None:
    """Return when the supervisor of `home` has ended, however it did."""
    while read_runtime(home).running:
        time.sleep(_POLL_S)


def stop(home: Home) -> bool:
    """End the stack of `home`; gives whether there was one.

    Also ends children that a killed supervisor left, by their recorded identity, and workers of
    other logic revisions that run beside this stack: without its broker they could only crash.
    """
    for beside in sorted(home.path.glob("revisions/v*")):
        stop(Home(beside))
    runtime = read_runtime(home)
    was_running = runtime.running
    if was_running:
        ask(runtime.supervisor, signal.SIGTERM)
        if not wait_until(lambda: not runtime.running, timeout_s=_STOP_S):
            ask(runtime.supervisor, signal.SIGKILL)
    leftover = read_runtime(home)
    end(leftover.children(), signal.SIGTERM)
    if leftover.phase not in ("down", "failed"):
        leftover.phase = "down"
        for service in leftover.services.values():
            service.state, service.pid = "stopped", None
        # A full disk takes no file: what this one says is checked against living processes.
        with contextlib.suppress(OSError):
            write_runtime(home, leftover)
    return was_running

"""Functions that start a stack in the background, wait for it, and stop it."""

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
from deploy.stack.exit_reason import exit_reason_of
from deploy.stack.generation import generation_of
from deploy.stack.home import PROJECT, Home
from deploy.stack.processes import end, send_signal, wait_until
from deploy.stack.runtime import Runtime, read_runtime, write_runtime

StepCallback = Callable[[dict[str, Any]], None]

_POLL_S: Final = 0.1
_START_S: Final = 900.0
_STOP_S: Final = 60.0
_SERVE_S: Final = 120.0


def daemon_command(home: Home, options: Options) -> list[str]:
    """Return the command line of the supervisor's process."""
    command = [sys.executable, "-m", "deploy.stack.daemon", str(home.path)]
    command += ["--workers", str(options.workers), "--seed-data", options.seed_data]
    command += ["--only", ",".join(options.only)] if options.only else []
    command += ["--demo"] if options.demo else []
    for name, port in options.ports.items():
        command += ["--port", f"{name}={port}"]
    return command


def start_detached(
    home: Home, options: Options, progress: StepCallback = lambda _: None
) -> Runtime:
    """Start the supervisor as a daemon and return once all services are ready.

    If a stack runs already, return its runtime when each of its services is ready.

    Raises:
        StackError: the stack did not become ready; the message names the cause and the service.
    """
    options.check()
    current = read_runtime(home)
    if current.running and current.phase in ("starting", "ready"):
        wait_ready(home, progress)
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
    return wait_ready(home, progress)


def _wait_serving(home: Home) -> Runtime:
    """Return when no service of a ready stack is still starting or stopping.

    Raises:
        StackError: a service ends again and again, or does not become ready in time.
    """
    deadline = time.monotonic() + _SERVE_S
    while True:
        seen = observe.observe(home)
        waiting = [name for name in seen.not_ready if seen.states[name] in observe.IN_TRANSITION]
        if not waiting:
            return _without_halted(seen.runtime)
        if time.monotonic() > deadline:
            message = f"{', '.join(waiting)} are not ready after {_SERVE_S:.0f} s"
            raise StackError(message, repair="inventory down && inventory up --detach")
        time.sleep(_POLL_S)


def _without_halted(runtime: Runtime) -> Runtime:
    """Return the runtime.

    Raises:
        StackError: a service ends again and again, and its log names the repair. The others run.
    """
    for name, entry in runtime.services.items():
        reason = exit_reason_of(entry)
        if entry.state == "restarting" and reason.repair:
            message = f"{name} keeps ending: {reason.problem}. All other services run"
            raise StackError(message, repair=reason.repair)
    return runtime


def wait_ready(home: Home, progress: StepCallback = lambda _: None) -> Runtime:
    """Wait until a starting stack is ready, and pass each of its steps to `progress`.

    Raises:
        StackError: the start failed, a service ends again and again, or it took too long.
    """
    deadline = time.monotonic() + _START_S
    reported = 0
    while True:
        runtime = read_runtime(home)
        for step in runtime.steps[reported:]:
            progress(step)
        reported = len(runtime.steps)
        if runtime.phase == "ready" and runtime.running:
            return _without_halted(runtime)
        if runtime.phase == "failed" or not runtime.running:
            message = runtime.error or "the supervisor ended"
            raise StackError(message, repair=runtime.repair or "inventory logs supervisor")
        # The capture of a generation may take longer; the supervisor has its own limit for it.
        if time.monotonic() > deadline and generation_of(home).captured:
            message = f"the stack is still starting after {_START_S:.0f} s"
            raise StackError(message, repair="inventory down && inventory up --detach")
        time.sleep(_POLL_S)


def wait_down(home: Home) -> None:
    """Return when the supervisor of `home` has ended for any reason."""
    while read_runtime(home).running:
        time.sleep(_POLL_S)


def stop(home: Home) -> bool:
    """Stop the stack of `home`; return whether one was running.

    Also end children that a killed supervisor left, found by their recorded identity. Also stop
    workers of other logic revisions that run beside this stack: without its broker they could only
    crash.
    """
    for shadow in sorted(home.path.glob("revisions/v*")):
        stop(Home(shadow))
    runtime = read_runtime(home)
    was_running = runtime.running
    if was_running:
        send_signal(runtime.supervisor, signal.SIGTERM)
        if not wait_until(lambda: not runtime.running, timeout_s=_STOP_S):
            send_signal(runtime.supervisor, signal.SIGKILL)
    leftover = read_runtime(home)
    end(leftover.children(), signal.SIGTERM)
    if leftover.phase not in ("down", "failed"):
        leftover.phase = "down"
        for service in leftover.services.values():
            service.state, service.pid = "stopped", None
        # A full disk refuses the write. Readers compare the file with the living processes anyway.
        with contextlib.suppress(OSError):
            write_runtime(home, leftover)
    return was_running

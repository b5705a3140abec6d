"""The supervisor's process: commands start it, wait for it and stop it, and `main` runs in it.

`python -m deploy.stack.daemon HOME OPTIONS` supervises a stack. `deploy.revisions.daemon` uses the
functions of this module for a supervisor of shadow workers.
"""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Any, Final

from deploy.errors import StackError
from deploy.stack import observe
from deploy.stack.context import Options
from deploy.stack.exit_reason import exit_reason_of
from deploy.stack.generation import generation_of
from deploy.stack.home import PROJECT, Home
from deploy.stack.processes import end, identify, send_signal, wait_until
from deploy.stack.report import Reporter
from deploy.stack.requested import RequestedState, write_requested
from deploy.stack.runtime import Runtime, read_runtime, write_environment, write_runtime
from deploy.stack.supervisor import Supervisor

StepCallback = Callable[[dict[str, Any]], None]

_POLL_S: Final = 0.1
_START_S: Final = 900.0
_STOP_S: Final = 60.0
_SERVE_S: Final = 120.0
_TAIL_CHARS: Final = 800


def start_detached(
    home: Home, options: Options, progress: StepCallback = lambda _: None
) -> Runtime:
    """Start the supervisor in the background. Return its runtime when all services are ready.

    If a stack runs already, start nothing, and wait in the same way.

    Raises:
        StackError: the stack did not become ready. The message names the cause and the service.
    """
    options.check()
    current = read_runtime(home)
    if current.running and current.phase in ("starting", "ready"):
        wait_ready(home, progress)
        return _wait_serving(home)
    home.create()
    command = [sys.executable, "-m", "deploy.stack.daemon", str(home.path)]
    log = start_process(home, [*command, json.dumps(asdict(options))], home)
    if log is not None:
        message = f"the supervisor did not start:\n{log}"
        raise StackError(message, repair="inventory logs supervisor")
    return wait_ready(home, progress)


def start_process(home: Home, command: Sequence[str], stack: Home) -> str | None:
    """Start the supervisor of `home` with `command`. `stack` is the home of the main stack.

    Return None when the supervisor has written its pid to `home`. If it ends before that, or needs
    more than 60 s, return the end of its log.
    """
    with home.log_of("supervisor").open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 -- our own module
            command,
            cwd=PROJECT,
            env=os.environ | {"INVENTORY_HOME": str(stack.path)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    wait_until(
        lambda: read_runtime(home).supervisor_pid == process.pid or process.poll() is not None,
        timeout_s=_STOP_S,
    )
    if read_runtime(home).supervisor_pid == process.pid:
        return None
    return home.log_of("supervisor").read_text(encoding="utf-8", errors="replace")[-_TAIL_CHARS:]


def _wait_serving(home: Home) -> Runtime:
    """Wait until no service of a ready stack is starting or stopping, and return the runtime.

    Raises:
        StackError: a service ends repeatedly, or does not become ready in time.
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
    """Return `runtime`, unless a service ends repeatedly and has logged a command as repair.

    Raises:
        StackError: there is such a service. All other services run.
    """
    for name, entry in runtime.services.items():
        reason = exit_reason_of(entry)
        if entry.state == "restarting" and reason.repair:
            message = f"{name} keeps ending: {reason.problem}. All other services run"
            raise StackError(message, repair=reason.repair)
    return runtime


def wait_ready(home: Home, progress: StepCallback = lambda _: None) -> Runtime:
    """Wait until a starting stack is ready, and return its runtime. Pass each step to `progress`.

    Raises:
        StackError: the start failed, a service ends repeatedly, or the start took too long. After a
        failed start, the supervisor has ended, too.
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
            raise _failed(runtime)
        # The capture of a generation may take longer. The supervisor has its own limit for it.
        if time.monotonic() > deadline and generation_of(home).captured:
            message = f"the stack is still starting after {_START_S:.0f} s"
            raise StackError(message, repair="inventory down && inventory up --detach")
        time.sleep(_POLL_S)


def _failed(runtime: Runtime) -> StackError:
    """Wait until the supervisor of a failed start has ended. Return the error of the start.

    If this function returned earlier, an `inventory doctor` after the error would check services
    that are being stopped.
    """
    wait_until(lambda: not runtime.running, timeout_s=_STOP_S)
    message = runtime.error or "the supervisor ended"
    return StackError(message, repair=runtime.repair or "inventory logs supervisor")


def wait_down(home: Home) -> None:
    """Wait until the supervisor of `home` has ended for any reason."""
    while read_runtime(home).running:
        time.sleep(_POLL_S)


def stop(home: Home) -> bool:
    """Stop the stack of `home`. Return True if one was running.

    Also end the services that a killed supervisor left, found by their recorded pids and start
    times. Also stop the shadows of this stack, because their workers can't work without its broker.
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
        # On a full disk, this write fails. The old file does no harm, because its readers check
        # which of the recorded processes are alive.
        with contextlib.suppress(OSError):
            write_runtime(home, leftover)
    return was_running


@contextlib.contextmanager
def sole_supervisor(home: Home, refusal: StackError) -> Iterator[None]:
    """Hold the lock of `home` until the block ends.

    First end the services that a killed supervisor left, because they use the ports.

    Raises:
        StackError: `refusal`, because another supervisor holds the lock.
    """
    with (home.path / "supervisor.lock").open("w") as lock:
        # Let only the owner open the file. Otherwise, another account could hold the lock, and no
        # stack would start.
        os.fchmod(lock.fileno(), 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise refusal from error
        end(read_runtime(home).children(), signal.SIGTERM)
        yield


def starting_runtime() -> Runtime:
    """Return the runtime of a stack in phase `starting`, with this process as its supervisor."""
    me = identify(os.getpid())
    return Runtime(phase="starting", supervisor_pid=me.pid, supervisor_ticks=me.started)


def reporting_supervisor(home: Home, runtime: Runtime) -> Supervisor:
    """Return a supervisor that stops on SIGTERM or SIGINT.

    Also start two threads: the reporter, and the rotation of logs.
    """
    from deploy.stack.rotation import Rotation  # noqa: PLC0415 -- commands start without it

    supervisor = Supervisor(home, runtime)

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        supervisor.stop()

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with contextlib.suppress(OSError):  # the socket's name is in use: commands read `runtime.json`
        Reporter(home, supervisor.report).start()
    Rotation(home, supervisor.stopping).start()
    return supervisor


def supervise(home: Home, options: Options) -> int:
    """Run a stack until SIGTERM or SIGINT. Return 0, or 1 if the stack failed to start.

    Raises:
        StackError: another supervisor holds the lock of this home, or the home can't be created.
    """
    from deploy.stack import start_order  # noqa: PLC0415 -- commands start without it

    home.path.mkdir(parents=True, exist_ok=True)
    message = f"another supervisor runs in {home.path}; nothing was started"
    with sole_supervisor(home, StackError(message, repair="inventory down")):
        runtime = starting_runtime()
        home.create()
        write_runtime(home, runtime)
        try:
            context = start_order.build_context(home, options)
        except StackError as error:
            runtime.phase, runtime.error, runtime.repair = "failed", str(error), error.repair
            write_runtime(home, runtime)
            return 1
        runtime.ports = dict(context.ports)
        write_environment(home, context.variables())
        write_requested(home, RequestedState(options.workers))
        supervisor = reporting_supervisor(home, runtime)
        start_order.StartThread(context, supervisor).start()
        supervisor.run()
        return 1 if runtime.error else 0


def main(run: Callable[[], int], name: str) -> int:
    """Run a supervisor that logs as `name`. Return its exit code, 1 if it could not start."""
    from cdc.logs import configure_logging  # noqa: PLC0415 -- commands start without it

    configure_logging(service=name)
    try:
        return run()
    except (StackError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1


if __name__ == "__main__":
    path, text = [*sys.argv[1:], "{}"][:2]
    stack_home, stack_options = Home(Path(path)), Options(**json.loads(text))
    sys.exit(main(lambda: supervise(stack_home, stack_options), "supervisor"))

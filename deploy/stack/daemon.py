"""The supervisor's process: `python -m deploy.stack.daemon`, or called by `inventory up`."""

import argparse
import contextlib
import fcntl
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from cdc.logs import configure_logging
from deploy.artifacts import fetch
from deploy.artifacts.prerequisites import require_java
from deploy.errors import StackError
from deploy.stack.context import DEFAULT_WORKERS, Context, Options, worker_names
from deploy.stack.director import Director
from deploy.stack.generation import generation_of, refuse_half_captured
from deploy.stack.home import Home
from deploy.stack.ports import choose_ports
from deploy.stack.processes import end, identify
from deploy.stack.report import Reporter
from deploy.stack.requested import RequestedState, write_requested
from deploy.stack.rotation import Rotation
from deploy.stack.runtime import Runtime, read_runtime, write_environment, write_runtime
from deploy.stack.supervisor import Supervisor


def build_context(home: Home, options: Options) -> Context:
    """Choose ports and secrets, and fetch the JVM parts if the stack needs them."""
    home.create()
    refuse_half_captured(home, options)
    names = ("postgres", "kafka", "kafka_controller", "connect", "web")
    ports = choose_ports(
        home.path / "ports.json", (*names, *worker_names(options.workers)), dict(options.ports)
    )
    jvm = options.wants("kafka") or options.wants("connect")
    return Context(
        home=home,
        options=options,
        ports=ports,
        secrets=home.secrets(),
        artifacts=fetch.ensure() if jvm else None,
        java=require_java() if jvm else "",
        generation=generation_of(home).number,
    )


def supervise(home: Home, options: Options) -> int:
    """Run a stack until SIGTERM or SIGINT; return the exit code.

    Raises:
        StackError: another supervisor has locked this home, or the stack cannot be prepared.
    """
    home.path.mkdir(parents=True, exist_ok=True)
    with (home.path / "supervisor.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            message = f"another supervisor runs in {home.path}"
            raise StackError(message, repair="inventory down") from error
        end_leftovers(home)
        return _supervise_locked(home, options)


def _supervise_locked(home: Home, options: Options) -> int:
    me = identify(os.getpid())
    runtime = Runtime(phase="starting", supervisor_pid=me.pid, supervisor_ticks=me.started)
    home.create()
    write_runtime(home, runtime)
    try:
        context = build_context(home, options)
    except StackError as error:
        runtime.phase, runtime.error, runtime.repair = "failed", str(error), error.repair
        write_runtime(home, runtime)
        return 1
    runtime.ports = dict(context.ports)
    write_environment(home, context.variables())
    write_requested(home, RequestedState(options.workers))
    supervisor = Supervisor(home, runtime)

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        supervisor.stop()

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with contextlib.suppress(OSError):  # name in use: commands read the file instead
        Reporter(home, supervisor.report).start()
    Rotation(home, supervisor.stopping).start()
    Director(context, supervisor).start()
    supervisor.run()
    return 1 if runtime.error else 0


def end_leftovers(home: Home) -> None:
    """End the children of a killed supervisor, because the new children need their ports."""
    end(read_runtime(home).children(), signal.SIGTERM)


def options_from(arguments: Sequence[str]) -> tuple[Home, Options]:
    """Return home and options from the command line that `control.start_detached` writes."""
    parser = argparse.ArgumentParser(prog="deploy.stack.daemon")
    parser.add_argument("home", type=Path)
    parser.add_argument("--workers", type=int, default=DEFAULT_WORKERS)
    parser.add_argument("--only", default="")
    parser.add_argument("--seed-data", default="none")
    parser.add_argument("--demo", action="store_true")
    parser.add_argument("--port", action="append", default=[], metavar="NAME=PORT")
    found = parser.parse_args(arguments)
    ports = dict(entry.split("=", 1) for entry in found.port)
    options = Options(
        workers=found.workers,
        only=tuple(name for name in found.only.split(",") if name),
        seed_data=found.seed_data,
        demo=found.demo,
        ports={name: int(port) for name, port in ports.items()},
    )
    return Home(found.home), options


def main(arguments: Sequence[str]) -> int:
    """Run with the command line that `control.start_detached` writes; return the exit code."""
    configure_logging(service="supervisor")
    try:
        return supervise(*options_from(arguments))
    except (StackError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Class-data archives (AppCDS) of broker and Connect, which halve the start time of the JVMs.

A JVM writes its archive when it exits. So this module starts both programs once, and ends them when
both are ready. The archives depend only on Java and the jars. `inventory fetch` makes them.
`inventory up` makes them only if they are missing.
"""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from deploy.artifacts import fetch
from deploy.artifacts.prerequisites import require_java
from deploy.errors import StackError
from deploy.stack.context import Context, Options
from deploy.stack.home import Home
from deploy.stack.ports import free_port
from deploy.stack.processes import end, identify, spawn, wait_until
from deploy.stack.service import Service
from deploy.stack.services import connect, jvm, kafka

_READY_S: Final = 90.0
_DUMP_S: Final = 60.0


def ensure(progress: Callable[[str], None] = lambda _: None) -> None:
    """Fetch the JVM parts if they are missing, and make each class-data archive that is missing."""
    artifacts, java = fetch.ensure(progress), require_java()
    missing = [
        part
        for part in ("broker", "connect")
        if not jvm.archive_file(artifacts, java, part).exists()
    ]
    if not missing:
        return
    progress("making class-data archives, once for this Java")
    with tempfile.TemporaryDirectory(prefix="inventory-cds-") as scratch:
        home = Home(Path(scratch))
        home.create()
        ports = _ports()
        context = Context(home, Options(), ports, home.secrets(), artifacts, java)
        _train(context)


def _ports() -> dict[str, int]:
    chosen: dict[str, int] = {}
    for name in ("kafka", "kafka_controller", "connect", "postgres", "web"):
        chosen[name] = free_port(chosen.values())
    return chosen


def _train(context: Context) -> None:
    kafka.prepare(context)
    broker = _recording(context, kafka.service(context), "broker")
    running = [_spawn(context, broker)]
    try:
        _await(broker, context)
        connect.prepare(context)
        worker = _recording(context, connect.service(context), "connect")
        running.insert(0, _spawn(context, worker))
        _await(worker, context)
    finally:
        for process in running:
            end([identify(process.pid)], signal.SIGTERM, grace_s=_DUMP_S)
            process.wait()
    for part in ("broker", "connect"):
        _store(context, part)


def _recording(context: Context, service: Service, part: str) -> Service:
    staged = context.home.path / f"{part}.jsa"
    java, *rest = service.command
    rest = [flag for flag in rest if not flag.startswith(("-XX:SharedArchiveFile", "-Xshare"))]
    return replace(service, command=(java, f"-XX:ArchiveClassesAtExit={staged}", *rest))


def _await(service: Service, context: Context) -> None:
    if not wait_until(lambda: service.ready(0), timeout_s=_READY_S, poll_s=0.2):
        log = context.home.log_of(service.name).read_text(encoding="utf-8", errors="replace")
        message = (
            f"{service.name} was started to record its class-data archive, but was not ready "
            f"within {_READY_S:g} s:\n{log[-1500:]}"
        )
        raise StackError(message, repair="inventory fetch")


def _spawn(context: Context, service: Service) -> subprocess.Popen[bytes]:
    return spawn(
        service.command,
        environment=service.environment,
        directory=service.directory,
        log=context.home.log_of(service.name),
    )


def _store(context: Context, part: str) -> None:
    artifacts, java = jvm.parts_of(context)
    target = jvm.archive_file(artifacts, java, part)
    made = context.home.path / f"{part}.jsa"
    # If the JVM has written no archive, it still runs without one, but starts more slowly.
    if made.exists():
        target.parent.mkdir(exist_ok=True)
        staged = target.with_name(f".{part}-{os.getpid()}")
        shutil.move(made, staged)
        staged.replace(target)

"""The supervisor of a shadow's workers: `python -m deploy.revisions.daemon`."""

import contextlib
import fcntl
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Final

from cdc.logs import configure_logging
from deploy.errors import StackError
from deploy.revisions.shadow import environment_for_tree, home_of
from deploy.stack.context import HOST, WORKER_MODULE
from deploy.stack.home import Home
from deploy.stack.ports import choose_ports
from deploy.stack.probes import http_ok
from deploy.stack.processes import end, identify
from deploy.stack.repair_thread import RepairThread
from deploy.stack.report import Reporter
from deploy.stack.rotation import Rotation
from deploy.stack.runtime import Runtime, environment_of, read_runtime
from deploy.stack.service import Service
from deploy.stack.service_variables import WORKER
from deploy.stack.supervisor import Supervisor

_PROBE_S: Final = 0.2


def supervise(home: Home, revision: int, tree: Path, python: str, workers: int) -> int:
    """Run the workers until a signal; return the exit code.

    Raises:
        StackError: another supervisor has these workers, or no stack runs in `home`.
    """
    shadow = home_of(home, revision)
    with (shadow.path / "supervisor.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            message = f"another supervisor runs in {shadow.path}; nothing was started"
            raise StackError(message, repair=f"inventory revision retire {revision}") from error
        end(read_runtime(shadow).children(), signal.SIGTERM)  # left by a killed supervisor
        names = [f"shadow-v{revision}-{number}" for number in range(1, workers + 1)]
        ports = choose_ports(shadow.path / "ports.json", names, {})
        supervisor = _supervisor(shadow, ports)
        environment = _environment(home, ports)
        supervisor.want(*(_worker(environment, name, ports[name], tree, python) for name in names))
        _start_threads(shadow, supervisor)
        supervisor.run()
    return 0


def _supervisor(shadow: Home, ports: dict[str, int]) -> Supervisor:
    """Return a supervisor that SIGTERM and SIGINT stop."""
    me = identify(os.getpid())
    runtime = Runtime(
        phase="starting", supervisor_pid=me.pid, supervisor_ticks=me.started, ports=ports
    )
    supervisor = Supervisor(shadow, runtime)

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        supervisor.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    return supervisor


def _environment(home: Home, ports: dict[str, int]) -> dict[str, str]:
    """Return the variables of the stack's own workers, with the addresses of these workers."""
    urls = ",".join(f"http://{HOST}:{port}" for port in ports.values())
    of_workers = {n: text for n, text in environment_of(home).items() if n in WORKER.variables}
    return of_workers | {"INVENTORY_WORKER_URLS": urls}


def _start_threads(shadow: Home, supervisor: Supervisor) -> None:
    """Start the threads that a stack's supervisor has too: report, rotation, probes, repairs."""
    with contextlib.suppress(OSError):  # name in use: commands read the file instead
        Reporter(shadow, supervisor.report).start()
    Rotation(shadow, supervisor.stopping).start()
    threading.Thread(target=_probe, args=(supervisor,), name="probe", daemon=True).start()
    RepairThread(shadow, supervisor).start()


def _worker(environment: dict[str, str], name: str, port: int, tree: Path, python: str) -> Service:
    inherited = {k: v for k, v in environment_for_tree().items() if not k.startswith("INVENTORY_")}
    mine = {"INVENTORY_WORKER_ID": name, "INVENTORY_WORKER_PORT": str(port)}
    url = f"http://{HOST}:{port}"
    return Service(
        name=name,
        command=(python, "-m", WORKER_MODULE),
        environment=inherited | {"PYTHONUNBUFFERED": "1"} | environment | mine,
        directory=tree,  # `-m` puts it first on the path, so this tree's code is what runs
        ready=lambda _pid: http_ok(f"{url}/readyz"),
        alive=lambda _pid: http_ok(f"{url}/livez"),
        stop_rank=0,
        port=port,
        url=url,
    )


def _probe(supervisor: Supervisor) -> None:
    """Mark workers as ready; the shadow is ready once all of them are."""
    while not supervisor.stopping.wait(_PROBE_S):
        for service, _ in supervisor.processes(ready=False):
            supervisor.probe(service)
        states = {entry.state for entry in supervisor.runtime.services.values()}
        if supervisor.runtime.phase == "starting" and states == {"running"}:
            supervisor.note(phase="ready")


def main(arguments: Sequence[str]) -> int:
    """Run with the command line that `shadow.start` writes; return the exit code."""
    home, revision, tree, python, workers = arguments
    configure_logging(service=f"supervisor-v{revision}")
    try:
        return supervise(Home(Path(home)), int(revision), Path(tree), python, int(workers))
    except (StackError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

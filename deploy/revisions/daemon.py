"""The supervisor of a shadow's workers: `python -m deploy.revisions.daemon`."""

import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Final

from deploy.errors import StackError
from deploy.revisions.shadow import environment_for_tree, home_of
from deploy.stack import daemon
from deploy.stack.context import HOST, WORKER_MODULE
from deploy.stack.home import Home
from deploy.stack.ports import choose_ports
from deploy.stack.probes import http_ok
from deploy.stack.repair_thread import RepairThread
from deploy.stack.runtime import environment_of
from deploy.stack.service import Service
from deploy.stack.service_variables import WORKER
from deploy.stack.supervisor import Supervisor
from streams.settings import SHADOW_PREFIX

_PROBE_S: Final = 0.2


def supervise(home: Home, revision: int, tree: Path, python: str, workers: int) -> int:
    """Run the shadow's workers until a signal ends this process. Return the exit code, 0.

    Raises:
        StackError: another supervisor runs these workers, or no stack runs in `home`.
    """
    shadow = home_of(home, revision)
    message = f"another supervisor runs in {shadow.path}; nothing was started"
    refusal = StackError(message, repair=f"inventory revision retire {revision}")
    with daemon.sole_supervisor(shadow, refusal):
        names = [f"{SHADOW_PREFIX}v{revision}-{number}" for number in range(1, workers + 1)]
        ports = choose_ports(shadow.path / "ports.json", names, {})
        environment = _environment(home, ports)
        runtime = replace(daemon.starting_runtime(), ports=ports)
        supervisor = daemon.reporting_supervisor(shadow, runtime)
        supervisor.want(*(_worker(environment, name, ports[name], tree, python) for name in names))
        threading.Thread(target=_probe, args=(supervisor,), name="probe", daemon=True).start()
        RepairThread(shadow, supervisor).start()
        supervisor.run()
    return 0


def _environment(home: Home, ports: dict[str, int]) -> dict[str, str]:
    """Return the variables of the stack's own workers, but with the shadow's worker URLs."""
    urls = ",".join(f"http://{HOST}:{port}" for port in ports.values())
    of_workers = {n: text for n, text in environment_of(home).items() if n in WORKER.variables}
    return of_workers | {"INVENTORY_WORKER_URLS": urls}


def _worker(environment: dict[str, str], name: str, port: int, tree: Path, python: str) -> Service:
    inherited = {k: v for k, v in environment_for_tree().items() if not k.startswith("INVENTORY_")}
    mine = {"INVENTORY_WORKER_ID": name, "INVENTORY_WORKER_PORT": str(port)}
    url = f"http://{HOST}:{port}"
    return Service(
        name=name,
        command=(python, "-m", WORKER_MODULE),
        environment=inherited | {"PYTHONUNBUFFERED": "1"} | environment | mine,
        directory=tree,  # with `-m`, Python imports from here first, so it runs this tree's code
        ready=lambda _pid: http_ok(f"{url}/readyz"),
        alive=lambda _pid: http_ok(f"{url}/livez"),
        stop_rank=0,
        port=port,
        url=url,
    )


def _probe(supervisor: Supervisor) -> None:
    """Mark each worker as ready when its probe succeeds, and the shadow when all are ready."""
    while not supervisor.stopping.wait(_PROBE_S):
        for service, _ in supervisor.processes(ready=False):
            supervisor.probe(service)
        states = {entry.state for entry in supervisor.runtime.services.values()}
        if supervisor.runtime.phase == "starting" and states == {"running"}:
            supervisor.note(phase="ready")


if __name__ == "__main__":
    path, number, code, interpreter, count = sys.argv[1:]
    sys.exit(
        daemon.main(
            lambda: supervise(Home(Path(path)), int(number), Path(code), interpreter, int(count)),
            f"supervisor-v{number}",
        )
    )

"""A separate broker for the bench, a Postgres if needed, and processes that end with the bench."""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import Popen

from bench.peers.peer import Services
from deploy.artifacts import fetch
from deploy.artifacts.prerequisites import require_java
from deploy.errors import StackError
from deploy.peers.environments import Environments
from deploy.stack.context import Context, Options
from deploy.stack.home import PROJECT, Home
from deploy.stack.ports import free_port
from deploy.stack.processes import end, identify, spawn, wait_until
from deploy.stack.service import Service
from deploy.stack.services import kafka, postgres

_NAMES = ("kafka", "kafka_controller", "postgres", "connect", "web", "worker")


@contextmanager
def running(environments: Environments, *, with_postgres: bool) -> Iterator[tuple[Services, Path]]:
    """Run the services on free loopback ports, in a directory that is deleted at the end."""
    artifacts, java = fetch.ensure(), require_java()
    with tempfile.TemporaryDirectory(prefix="inventory-peers-") as scratch, ExitStack() as stack:
        home = Home(Path(scratch) / "home")
        Path(scratch).chmod(0o711)  # Postgres runs as another account when we are root
        home.create()
        ports: dict[str, int] = {}
        for name in _NAMES:
            ports[name] = free_port(ports.values())
        context = Context(home, Options(), ports, home.secrets(), artifacts, java)
        kafka.prepare(context)
        broker = stack.enter_context(started(kafka.service(context), home))
        database = 0
        if with_postgres:
            postgres.prepare(context)
            database = stack.enter_context(started(postgres.service(context), home))
        trials = Path(scratch) / "trials"
        trials.mkdir()
        services = Services(
            bootstrap=context.kafka_bootstrap,
            broker_pid=broker,
            launchers=environments.launchers,
            missing=environments.missing,
            start=_start,
            database_url=context.database_url("postgres", "postgres") if database else "",
            postgres_pid=database,
            worker_environment={
                **context.variables_of("worker-1"),
                "INVENTORY_WORKER_PORT": str(ports["worker"]),
            },
        )
        yield services, trials


@contextmanager
def started(service: Service, home: Home) -> Iterator[int]:
    """Run a service until the block ends; yield its process id once its probe succeeds.

    Raises:
        StackError: the service ended or didn't become ready.
    """
    process = spawn(
        service.command,
        environment=service.environment,
        directory=service.directory,
        log=home.log_of(service.name),
        death_signal=service.stop_signal,
        privileges=service.privileges,
    )
    try:
        ready = wait_until(
            lambda: process.poll() is not None or service.ready(process.pid),
            timeout_s=service.ready_within_s,
        )
        if not ready or process.poll() is not None:
            text = home.log_of(service.name).read_text("utf-8", errors="replace")
            message = f"{service.name} did not start: {text[-800:]}"
            raise StackError(message, repair="make clean install")
        yield process.pid
    finally:
        end([identify(process.pid)], service.stop_signal)
        process.wait()


def _start(command: Sequence[str], extra: Mapping[str, str], log: Path) -> Popen[bytes]:
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith("INVENTORY_")
    }
    environment = inherited | {"PYTHONUNBUFFERED": "1"} | dict(extra)
    return spawn(command, environment=environment, directory=PROJECT, log=log)

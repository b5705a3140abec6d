"""A separate broker and Postgres for a benchmark. Their processes end with the benchmark."""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import Popen

from bench.peers.peer import Services
from deploy.artifacts import fetch
from deploy.artifacts.install import AGAIN
from deploy.artifacts.prerequisites import require_java
from deploy.errors import StackError
from deploy.peers.environments import Environments
from deploy.stack import bootstrap
from deploy.stack.context import Context, Options
from deploy.stack.home import PROJECT, Home
from deploy.stack.ports import free_port
from deploy.stack.processes import end, identify, spawn, wait_until
from deploy.stack.service import Service
from deploy.stack.services import kafka, postgres

_NAMES = ("kafka", "kafka_controller", "postgres", "connect", "web", "worker")


@contextmanager
def running(environments: Environments, *, with_postgres: bool) -> Iterator[tuple[Services, Path]]:
    """Run a broker until the block ends and, if `with_postgres`, an empty Postgres.

    Yield `Services` with their addresses and process ids, and an empty directory for the trials.
    """
    with scratch_context("inventory-peers-", with_broker=True) as context, ExitStack() as stack:
        broker_pid = stack.enter_context(broker(context))
        database = 0
        if with_postgres:
            postgres.prepare(context)
            database = stack.enter_context(started(postgres.service(context), context.home))
        trials = context.home.path.with_name("trials")
        trials.mkdir()
        services = Services(
            bootstrap=context.kafka_bootstrap,
            broker_pid=broker_pid,
            launchers=environments.launchers,
            missing=environments.missing,
            start=_start,
            database_url=context.database_url("postgres", "postgres") if database else "",
            postgres_pid=database,
            worker_environment={
                **context.variables_of("worker-1"),
                "INVENTORY_WORKER_PORT": str(context.ports["worker"]),
            },
        )
        yield services, trials


@contextmanager
def scratch_context(
    prefix: str, options: Options | None = None, *, with_broker: bool
) -> Iterator[Context]:
    """Yield a `Context` with free loopback ports and a new home. Delete the home at the end."""
    artifacts, java = (fetch.ensure(), require_java()) if with_broker else (None, "")
    with tempfile.TemporaryDirectory(prefix=prefix) as scratch:
        Path(scratch).chmod(0o711)  # if we are root, Postgres runs as another account
        home = Home(Path(scratch) / "home")
        home.create()
        ports: dict[str, int] = {}
        for name in _NAMES:
            ports[name] = free_port(ports.values())
        yield Context(home, options or Options(), ports, home.secrets(), artifacts, java)


@contextmanager
def broker(context: Context) -> Iterator[int]:
    """Run a broker until the block ends. Yield its process id."""
    kafka.prepare(context)
    with started(kafka.service(context), context.home) as pid:
        yield pid


@contextmanager
def migrated_database(context: Context) -> Iterator[int]:
    """Run a Postgres with all migrations until the block ends. Yield its process id."""
    postgres.prepare(context)
    with started(postgres.service(context), context.home) as pid:
        target = bootstrap.server_of(context)
        bootstrap.create_database(target)
        log = context.home.log_of("migrate")
        bootstrap.migrate(target, context.environment("migrate"), log)
        yield pid


@contextmanager
def started(service: Service, home: Home) -> Iterator[int]:
    """Run a service until the block ends. Yield its process id when its probe succeeds.

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
            raise StackError(message, repair=AGAIN)
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

"""Start order of a stack: a thread starts each service after the services that it needs.

Each step begins after the probe of the previous step has succeeded. But Postgres, the broker and
Connect start together, because Connect waits for its broker by itself. No service writes a captured
table before the connector streams. If rows were written earlier, they would arrive as snapshot
rows, for which the rules decide nothing.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import structlog
from typing_extensions import override

from cdc.capture.admin import create_topics
from cdc.capture.client import ConnectClient, wait_streaming
from deploy.artifacts import fetch
from deploy.artifacts.prerequisites import require_java
from deploy.errors import StackError
from deploy.stack import bootstrap, capture, generation, recapture
from deploy.stack.context import APPLICATIONS, Context, Options, worker_names
from deploy.stack.exit_reason import exit_reason_of
from deploy.stack.home import Home
from deploy.stack.incident_thread import IncidentThread
from deploy.stack.ports import choose_ports
from deploy.stack.repair_thread import RepairThread
from deploy.stack.requested import Requests
from deploy.stack.runtime import UP
from deploy.stack.service import Service
from deploy.stack.services import application, connect, kafka, postgres
from deploy.stack.supervisor import Supervisor

log = structlog.get_logger(__name__)

_POLL_S: Final = 0.1
_WATCH_S: Final = 0.5
_CRASHES_BEFORE_READY: Final = 5
# Services that start when the connector is streaming. Most of them write captured tables. The
# prover has no work before the capture.
_AFTER_CAPTURE: Final = ("heartbeat", "automation", "webhooks", "capture", "prover", "web")


def build_context(home: Home, options: Options) -> Context:
    """Return the stack's ports, secrets and JVM parts. Fetch the parts if the stack needs them.

    Raises:
        StackError: a capture was interrupted, no port is free, or the parts can't be fetched.
    """
    home.create()
    generation.refuse_half_captured(home, options)
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
        generation=generation.generation_of(home).number,
    )


class StartThread(threading.Thread):
    """Thread that starts the stack step by step, and then carries out requests."""

    def __init__(self, context: Context, supervisor: Supervisor) -> None:
        super().__init__(name="start order", daemon=True)
        self.context = context
        self.supervisor = supervisor
        self._steps_lock = threading.Lock()

    @override
    def run(self) -> None:
        """Start everything. After a failure, record it in the runtime, and stop the stack."""
        IncidentThread(self.supervisor, self.context.database_url("app_rw")).start()
        try:
            self._start_all()
            self.supervisor.note(phase="ready")
            self._watch()
        except Exception as error:  # noqa: BLE001 -- recorded, then the stack stops
            if not self.supervisor.stopping.is_set():
                repair = error.repair if isinstance(error, StackError) else UP
                text = str(error) if isinstance(error, StackError) else f"{error!r}"
                self.supervisor.note(error=text, repair=repair)
                self.supervisor.stop()

    def _start_all(self) -> None:
        with ThreadPoolExecutor(max_workers=3, thread_name_prefix="start") as pool:
            started = time.monotonic()
            jobs = [
                pool.submit(job, started)
                for name, job in (
                    ("postgres", self._start_postgres),
                    ("kafka", self._start_kafka),
                    ("connect", self._start_connect),
                )
                if self.context.options.wants(name)
            ]
            for job in jobs:
                job.result()
        if not generation.generation_of(self.context.home).captured:
            self._capture_generation()
        elif all(map(self.context.options.wants, generation.CAPTURING)):
            capture.refuse_damaged(self.context.database_url("postgres"))
        started = time.monotonic()
        # Workers, sinks and archiver write no captured table, so they start before the connector.
        readers = self._applications(before_capture=True)
        self.supervisor.want(*readers)
        if all(map(self.context.options.wants, generation.CAPTURING)):
            self._capture(wait_streaming)
        writers = self._applications(before_capture=False)
        self.supervisor.want(*writers)
        self._await([*readers, *writers], started)
        if self.context.options.seed_data == "demo":
            self._step("demo retailer", lambda: bootstrap.seed(self.context))
            self._serve(application.trading(self.context), time.monotonic())

    def _start_postgres(self, started: float) -> None:
        postgres.prepare(self.context)
        self._serve(postgres.service(self.context), started)
        server = bootstrap.server_of(self.context)
        self._step("database", lambda: bootstrap.create_database(server))
        if self.context.options.wants("migrate"):
            environment = self.context.environment("migrate")
            log = self.context.home.log_of("migrate")
            self._step("migrations", lambda: bootstrap.migrate(server, environment, log))

    def _start_kafka(self, started: float) -> None:
        kafka.prepare(self.context)
        self._serve(kafka.service(self.context), started)
        self._step("topics", lambda: create_topics(self.context.kafka_bootstrap))

    def _start_connect(self, started: float) -> None:
        connect.prepare(self.context)
        self._serve(connect.service(self.context), started)

    def _capture_generation(self) -> None:
        """Capture a new generation. No worker or sink starts before the log has every row."""
        url, bootstrap = self.context.database_url("postgres"), self.context.kafka_bootstrap
        coming = generation.generation_of(self.context.home)
        self._step("rows to capture", lambda: recapture.refuse_too_many(url))
        owner = self.context.database_url("retail_owner")
        self._step("publication", lambda: capture.publish_tables(owner))
        self._step("former generation", lambda: recapture.forget_former_topics(url, coming))
        self._capture(lambda client, url: recapture.wait_complete(client, url, bootstrap))
        self._step("every key", lambda: recapture.finish(self.context.home, url))

    def _capture(self, wait: Callable[[ConnectClient, str], object]) -> None:
        def register() -> None:
            client = ConnectClient(self.context.connect_url, self.context.secrets["connect"])
            try:
                capture.capture(client, self.context.database_url("postgres"), wait)
            finally:
                client.close()

        self._step("connector", register)

    def _applications(self, *, before_capture: bool) -> list[Service]:
        wants = self.context.options.wants
        services: list[Service] = []
        if before_capture:
            names = worker_names(self.context.options.workers)
            services += [application.worker(self.context, name) for name in names if wants(name)]
        services += [
            application.application(self.context, name)
            for name in APPLICATIONS
            if (name in _AFTER_CAPTURE) != before_capture and wants(name)
        ]
        return services

    def _serve(self, service: Service, started: float) -> None:
        self.supervisor.want(service)
        self._await([service], started)

    def _await(self, services: list[Service], started: float) -> None:
        """Wait until the probe of each service succeeds. Record the time since `started`.

        If a service ends repeatedly with a known repair, go on, because the repair needs the other
        services.
        """
        for service in services:
            if not self._is_ready(service):
                continue
            where = f":{service.port}" if service.port else ""
            self._record_step(f"{service.name} {where}".strip(), time.monotonic() - started)

    def _is_ready(self, service: Service) -> bool:
        """Wait for the service. Return True if it is ready, False if it logged a repair command.

        Raises:
            StackError: the service did not become ready, and logged no repair command.
        """
        deadline = time.monotonic() + service.ready_within_s
        while not self.supervisor.stopping.is_set():
            if self.supervisor.probe(service):
                return True
            pid = self.supervisor.pid_of(service.name)
            if pid is not None and service.is_progressing(pid):
                deadline = time.monotonic() + service.ready_within_s
            if time.monotonic() > deadline or self._keeps_crashing(service.name):
                break
            time.sleep(_POLL_S)
        entry = self.supervisor.runtime.services[service.name]
        if exit_reason_of(entry).repair:
            return False
        log = self.context.home.log_of(service.name)
        tail = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-12:])
        message = (
            f"{service.name} did not become ready (crashed {entry.restarts} times, "
            f"limit {service.ready_within_s:.0f} s); the last lines of {log}:\n{tail}"
        )
        raise StackError(message, repair=UP)

    def _keeps_crashing(self, name: str) -> bool:
        """Return True if a service that isn't ready has crashed 5 times or more."""
        entry = self.supervisor.runtime.services[name]
        return entry.state != "running" and entry.restarts >= _CRASHES_BEFORE_READY

    def _step(self, name: str, work: Callable[[], object]) -> None:
        started = time.monotonic()
        work()
        self._record_step(name, time.monotonic() - started)

    def _record_step(self, name: str, seconds: float) -> None:
        with self._steps_lock:
            step = {"step": name, "seconds": round(seconds, 1)}
            self.supervisor.note(steps=[*self.supervisor.runtime.steps, step])

    def _watch(self) -> None:
        """Probe restarted services, and carry out requests, until the supervisor stops."""
        requests = Requests(self.context, self.supervisor, self._leave)
        RepairThread(self.context.home, self.supervisor).start()
        problem = ""
        while not self.supervisor.stopping.wait(_WATCH_S):
            for service, _ in self.supervisor.processes(ready=False):
                self.supervisor.probe(service)
            try:
                requests.carry_out()
                problem = ""
            except (OSError, StackError) as error:  # a full disk, or no free port: try again
                if problem != str(error):
                    log.warning("request not carried out", error=str(error))
                problem = str(error)

    def _leave(self, worker: str) -> None:
        from deploy.stack import membership  # noqa: PLC0415 -- loads aiokafka, rarely used

        membership.leave(self.context.kafka_bootstrap, worker)

"""The common parts of sink processes: single instance, heartbeat row, clean shutdown."""

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from typing import Never, Protocol

import psycopg
import structlog
from confluent_kafka import KafkaException
from psycopg.types.json import Jsonb

from cdc.contracts.versions import UnreadableRecord
from cdc.logs import configure_logging
from streams.exit_codes import ExitCode, repair_at_topic
from streams.settings import SinkSettings
from streams.sinks.active import RevisionSwitched
from streams.sinks.positions import Connection, read_positions
from streams.sinks.source import SinkRecord, SinkSource, SourceLost

HEARTBEAT_S = 2.0
CONNECT_TIMEOUT_S = 10
LOCK_WAIT_S = 30

log = structlog.get_logger(__name__)

_HEARTBEAT = """
INSERT INTO read_model.service_heartbeat (service, pid, at, detail)
VALUES (%s, %s, clock_timestamp(), %s)
ON CONFLICT (service) DO UPDATE
    SET pid = excluded.pid, at = excluded.at, detail = excluded.detail
"""


class Sink(Protocol):
    """The interface of a sink."""

    @property
    def name(self) -> str:
        """Return the name of the process, of its positions and of its lock."""
        ...

    def topics(self, connection: Connection) -> Sequence[str]:
        """Return the topics to read now, all partitions. Called again from time to time."""
        ...

    def write(self, connection: Connection, batch: Sequence[SinkRecord]) -> None:
        """Write a batch and its positions in the caller's transaction.

        Raises:
            RevisionSwitched: the batch is of topics that must not be read any more.
        """
        ...


class SecondInstance(Exception):
    """Another process runs as this sink already."""


def main(create: Callable[[SinkSettings], Sink]) -> None:
    """Run a sink until SIGTERM. The supervisor restarts it after any failure.

    Exits with 1 on a failure of Postgres or Kafka, or beside another instance. No restart cures the
    other codes. 65 is an unreadable record: the log names its position, the version found and the
    versions known. 66 is a topic that no longer holds the next offset.
    """
    settings = SinkSettings()
    sink = create(settings)
    configure_logging(level=settings.log_level, service=sink.name)
    try:
        _Process(settings, sink).run()
    except (psycopg.Error, KafkaException, SecondInstance) as error:
        log.critical("sink failed", exc_info=error)
        sys.exit(ExitCode.FAILED)
    except SourceLost as error:
        _halt("sink lost its place", error, ExitCode.LOG_MISMATCH, error.topic)
    except UnreadableRecord as error:
        _halt(
            "sink stopped at a record", error, ExitCode.UNREADABLE, error.position.partition("[")[0]
        )


def _halt(event: str, error: Exception, code: ExitCode, topic: str) -> Never:
    """End the process with `code` and log the repair command for `inventory doctor`."""
    repair = repair_at_topic(topic, code)
    log.critical(event, problem=str(error), exit_code=int(code), repair=repair)
    sys.exit(code)


class _Process:
    def __init__(self, settings: SinkSettings, sink: Sink) -> None:
        self._settings = settings
        self._sink = sink
        self._stopping = False
        self._beat_at_s = 0.0
        self._records = 0
        self._topics: Sequence[str] = ()

    def run(self) -> None:
        """Read, write and send heartbeats until a signal arrives."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        address = self._settings.database_url.get_secret_value()
        source = SinkSource(self._settings.kafka_bootstrap, self._sink.name)
        try:
            with psycopg.connect(
                address,
                autocommit=True,
                connect_timeout=CONNECT_TIMEOUT_S,
                application_name=self._sink.name,
            ) as connection:
                _take_lock(connection, self._sink.name)
                while not self._stopping:
                    self._process_once(source, connection)
        finally:
            source.close()
        log.info("sink stopped", records=self._records)

    def _process_once(self, source: SinkSource, connection: Connection) -> None:
        now_s = time.monotonic()
        if now_s - self._beat_at_s >= HEARTBEAT_S:
            self._beat_at_s = now_s
            self._start_if_changed(source, connection)
            detail = Jsonb({"records": self._records})
            connection.execute(_HEARTBEAT, (self._sink.name, os.getpid(), detail))
        settings = self._settings
        batch = source.batch(settings.sink_batch_records, settings.sink_poll_ms / 1000)
        if batch:
            try:
                with connection.transaction():
                    self._sink.write(connection, batch)
            except RevisionSwitched as moved:
                log.warning("batch left out", reason=str(moved), records=len(batch))
                self._start_if_changed(source, connection)
            else:
                self._records += len(batch)

    def _start_if_changed(self, source: SinkSource, connection: Connection) -> None:
        """Read the topics that the sink wants now, from its stored positions."""
        topics = tuple(self._sink.topics(connection))
        if topics != self._topics:
            positions = read_positions(connection, self._sink.name)
            source.start(topics, self._settings.partitions, positions)
            self._topics = topics
            log.info("sink reads", topics=topics, places=len(positions))

    def _stop(self, _number: int, _frame: object) -> None:
        self._stopping = True


def _take_lock(connection: Connection, name: str) -> None:
    """Take the sink's advisory lock and hold it as long as the connection lives.

    Postgres releases the lock of a killed predecessor once it notices, so wait a little.

    Raises:
        SecondInstance: another process holds it for `LOCK_WAIT_S`.
    """
    deadline_s = time.monotonic() + LOCK_WAIT_S
    while True:
        row = connection.execute(
            "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", (f"sink-{name}",)
        ).fetchone()
        if row is not None and row[0] is True:
            return
        if time.monotonic() > deadline_s:
            problem = f"sink {name}: another process holds its lock for {LOCK_WAIT_S} s"
            raise SecondInstance(problem)
        time.sleep(0.2)

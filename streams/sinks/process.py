"""The main loop of a sink process.

The loop ensures that only one process runs as the sink. It updates the sink's row of
`read_model.service_heartbeat` every 2 s. After SIGTERM, it ends between two batches.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Never, Protocol

import psycopg
import structlog
from confluent_kafka import KafkaException
from psycopg.types.json import Jsonb

from cdc.capture.admin import admin_client
from cdc.contracts.versions import UnreadableRecord
from cdc.logs import configure_logging
from streams.exit_codes import ExitCode, repair_at_topic
from streams.settings import SinkSettings
from streams.sinks.active import RevisionSwitched
from streams.sinks.positions import (
    Connection,
    read_positions,
    read_topic_ids,
    write_topic_ids,
)
from streams.sinks.source import SinkRecord, SinkSource, SourceLost, is_temporary
from streams.sinks.topic_ids import checked_ids

HEARTBEAT_S = 2.0
CHECK_S = 5.0  # least time between two comparisons of the topics' ids
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
    """A sink. It returns the topics to read, and it writes batches of their records to Postgres."""

    @property
    def name(self) -> str:
        """Return the sink's name, which is also the name of its process, positions and lock."""
        ...

    @property
    def most_records(self) -> int:
        """Return the limit of records in a transaction. `sink_batch_records` can lower it."""
        ...

    def topics(self, connection: Connection) -> Sequence[str]:
        """Return the topics to read now. The process reads all their partitions.

        The process calls this every 2 s, so that a sink can change its topics.
        """
        ...

    def write(self, connection: Connection, batch: Sequence[SinkRecord]) -> None:
        """Write a batch and the positions after it in the caller's transaction.

        Raises:
            RevisionSwitched: the sink must read other topics now; the batch is dropped.
        """
        ...


class SecondInstance(Exception):
    """Another process runs as this sink already."""


def main(create: Callable[[SinkSettings], Sink]) -> None:
    """Run a sink until SIGTERM or SIGINT. The supervisor restarts it after any failure.

    The exit code is 1 after a failure of Postgres or Kafka, or if another process runs as the sink.
    It is 65 for an unreadable record: the log has its position, its version and the known versions.
    It is 66 for a topic that lacks the next offset. For 65 and 66 a restart is not enough, and the
    log has the repair command.
    """
    settings = SinkSettings()
    sink = create(settings)
    configure_logging(level=settings.log_level, service=sink.name)
    try:
        _Process(settings, sink).run()
    except (psycopg.Error, KafkaException, SecondInstance) as error:
        code = int(ExitCode.FAILED)
        log.critical("sink failed", exc_info=error, problem=str(error), exit_code=code)
        sys.exit(ExitCode.FAILED)
    except SourceLost as error:
        _halt(
            "the topic does not hold the sink's position", error, ExitCode.LOG_MISMATCH, error.topic
        )
    except UnreadableRecord as error:
        _halt(
            "sink stopped at a record that it can't read",
            error,
            ExitCode.UNREADABLE,
            error.position.partition("[")[0],
        )


def _halt(event: str, error: Exception, code: ExitCode, topic: str) -> Never:
    """Log the problem and its repair command for `inventory doctor`, and end the process."""
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
        self._admin = admin_client(settings.kafka_bootstrap)
        self._checked_at_s = float("-inf")

    def run(self) -> None:
        """Write batches of records and heartbeats to Postgres until SIGTERM or SIGINT arrives."""
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
            self._check_topics(connection)
            detail = Jsonb({"records": self._records})
            connection.execute(_HEARTBEAT, (self._sink.name, os.getpid(), detail))
        settings = self._settings
        most = min(settings.sink_batch_records, self._sink.most_records)
        batch = source.batch(most, settings.sink_poll_ms / 1000)
        if batch:
            try:
                with connection.transaction():
                    self._sink.write(connection, batch)
            except RevisionSwitched as moved:
                log.warning("batch dropped", reason=str(moved), records=len(batch))
                # Start again at the stored positions. If the topics were not reset here, a second
                # switch back to the same topics would look like no change.
                self._topics = ()
                self._start_if_changed(source, connection)
            else:
                self._records += len(batch)

    def _start_if_changed(self, source: SinkSource, connection: Connection) -> None:
        """Start to read from the stored positions if the sink's topics have changed.

        If the broker doesn't answer a request for the topics' ids, read nothing, and try again
        later.
        """
        topics = tuple(self._sink.topics(connection))
        if topics == self._topics:
            return
        # Without this stop, the consumer would continue after a dropped batch and skip its records.
        source.stop()
        self._topics = ()
        ids = self._checked_topic_ids(topics, connection)
        if ids is not None:
            positions = read_positions(connection, self._sink.name)
            source.start(topics, self._settings.partitions, positions, ids)
            self._topics = topics
            log.info("sink reads", topics=topics, positions=len(positions))

    def _check_topics(self, connection: Connection) -> None:
        """Compare the broker's topic ids with the stored ids, at most once in `CHECK_S` seconds."""
        if self._topics and time.monotonic() - self._checked_at_s >= CHECK_S:
            self._checked_topic_ids(self._topics, connection)

    def _checked_topic_ids(
        self, topics: Sequence[str], connection: Connection
    ) -> Mapping[str, str] | None:
        """Compare the broker's ids of `topics` with the stored ids, and return the broker's ids.

        Store ids that are missing in Postgres. Return None if the broker doesn't answer.
        """
        stored = read_topic_ids(connection, self._sink.name)
        try:
            found = checked_ids(self._admin, topics, stored)
        except KafkaException as error:
            if not is_temporary(error.args[0]):
                raise
            log.warning("topics are not compared", error=str(error))
            return None
        finally:
            self._checked_at_s = time.monotonic()
        write_topic_ids(connection, self._sink.name, found)
        return found

    def _stop(self, _number: int, _frame: object) -> None:
        self._stopping = True


def _take_lock(connection: Connection, name: str) -> None:
    """Take the sink's advisory lock. Closing the connection releases the lock.

    Postgres releases the lock of a killed process only when it notices the lost connection. So wait
    up to `LOCK_WAIT_S` seconds for the lock.

    Raises:
        SecondInstance: another process still has the lock after that time.
    """
    deadline_s = time.monotonic() + LOCK_WAIT_S
    while True:
        row = connection.execute(
            "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", (f"sink-{name}",)
        ).fetchone()
        if row is not None and row[0] is True:
            return
        if time.monotonic() > deadline_s:
            problem = f"sink {name}: another process has held the sink's lock for {LOCK_WAIT_S} s"
            raise SecondInstance(problem)
        time.sleep(0.2)

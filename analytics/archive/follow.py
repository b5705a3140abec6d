"""Copy `stock.events` into the archive continuously, as a service.

A lock file admits one process at a time. If a run needs newer records, the module `complete` waits
for this service. If the service doesn't run, `complete` archives the records itself.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import structlog
from confluent_kafka import OFFSET_BEGINNING, KafkaException, TopicPartition

from analytics import kafka
from analytics.archive.names import FLUSH, LOCK, RELEASE_REQUEST, former_name
from analytics.archive.source import refuse_other_log, refuse_other_source
from analytics.archive.writer import PartitionWriter, arrival, open_writers
from analytics.locks import exclusive
from cdc.capture.admin import topic_ids
from cdc.contracts.topics import STOCK_EVENTS
from cdc.settings import Connections

# Few large fetches cost less than many small ones, so the broker may wait for more records. The
# delay does no harm: only a run that needs the last records waits for the archive.
_FETCH_WAIT_MS: Final = 500
_FETCH_BYTES: Final = 256 * 1024
_CHECK_S: Final = 10.0
_ANSWER_S: Final = 2.0  # a longer wait would delay the heartbeat
_log = structlog.get_logger(__name__)

Progress = Callable[[Mapping[int, int]], None]


@contextmanager
def only_archiver(directory: Path) -> Iterator[bool]:
    """Hold the archive's lock. Yield False if another process holds or has moved the lock file.

    An archiver of the first release locks a file of another name. If that file exists, this
    function locks it, too.
    """
    former = directory / former_name(LOCK)
    with exclusive(directory / LOCK) as is_held:
        if not is_held or not former.is_file():
            yield is_held
            return
        with exclusive(former) as is_free:
            yield is_free


def follow(
    settings: Connections, *, should_continue: Callable[[], bool], progress: Progress
) -> None:
    """Archive new records while `should_continue()` is true, then write the buffered records.

    Return early if another process requests the lock to move the archive away.

    Raises:
        BrokenArchive: manifest, head, files and topic disagree.
    """
    given_up = settings.archive_dir / RELEASE_REQUEST
    given_up.unlink(missing_ok=True)  # left by a command that was killed
    writers = open_writers(
        settings.archive_dir,
        partitions=settings.partitions,
        generation=settings.generation,
    )
    starts = checked_starts(settings, writers)
    client = kafka.consumer(
        settings.kafka_bootstrap, fetch_wait_ms=_FETCH_WAIT_MS, fetch_bytes=_FETCH_BYTES
    )
    client.assign([_assignment(number, starts) for number in range(settings.partitions)])
    _log.info("archiver follows", topic=STOCK_EVENTS, next_offsets=starts)
    request, check = _FlushRequest(settings.archive_dir / FLUSH), _SourceCheck(settings)
    try:
        while should_continue() and not given_up.exists():
            is_flush_due = request.is_new()
            messages = kafka.records(client)
            check.refuse_other_source()
            for message in messages:
                if message.error() is None:
                    writers[message.partition()].take(arrival(message))
            for writer in writers:
                if is_flush_due:
                    writer.roll()
                else:
                    writer.roll_if_due()
            progress({writer.partition: writer.next_offset for writer in writers})
        for writer in writers:
            writer.roll()
    finally:
        client.close()


class _SourceCheck:
    """A check, every 10 s, that the topic was not deleted and created again.

    A consumer doesn't notice a new topic that already has a record at the consumer's next offset.
    """

    def __init__(self, settings: Connections) -> None:
        self._directory = settings.archive_dir
        self._admin = kafka.admin_client(settings.kafka_bootstrap)
        self._due_s = time.monotonic() + _CHECK_S

    def refuse_other_source(self) -> None:
        """Raise `BrokenArchive` if the topic has another id. Do nothing if the broker is silent."""
        if time.monotonic() < self._due_s:
            return
        self._due_s = time.monotonic() + _CHECK_S
        try:
            found = topic_ids(self._admin, [STOCK_EVENTS], timeout_s=_ANSWER_S)
        except KafkaException:  # if the error lasts, the consumer reports it
            return
        if STOCK_EVENTS in found:
            refuse_other_source(self._directory, found[STOCK_EVENTS])


class _FlushRequest:
    """A file that a run touches so that the archiver writes its buffered records at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = self._stamp()

    def is_new(self) -> bool:
        """Return True if the file was touched since the last call."""
        before, self._seen = self._seen, self._stamp()
        return self._seen != before

    def _stamp(self) -> int:
        return self._path.stat().st_mtime_ns if self._path.exists() else 0


def checked_starts(settings: Connections, writers: list[PartitionWriter]) -> dict[int, int]:
    """Return the next offset of each partition, after a check that the topic continues there.

    Raises:
        BrokenArchive: the topic was truncated, or deleted and recreated.
    """
    starts = {writer.partition: writer.next_offset for writer in writers}
    refuse_other_log(settings, starts)
    return starts


def _assignment(number: int, starts: Mapping[int, int]) -> TopicPartition:
    return TopicPartition(STOCK_EVENTS, number, starts[number] or OFFSET_BEGINNING)

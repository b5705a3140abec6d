"""Copying the topic into the archive: continuously as a service, or up to given offsets for a run.

A lock file admits one process at a time. A run that needs a complete archive waits for the service
that holds the lock. Without a service, the run archives the records itself.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import structlog
from confluent_kafka import OFFSET_BEGINNING, TopicPartition

from analytics import kafka
from analytics.archive.manifest import Manifest
from analytics.archive.names import FLUSH, LOCK, RELEASE_REQUEST, former_name
from analytics.archive.source import refuse_other_log
from analytics.archive.writer import PartitionWriter, arrival, open_writers
from analytics.damage import Damage
from analytics.locks import exclusive
from cdc.contracts.topics import STOCK_EVENTS
from cdc.settings import Connections

_WAIT_S: Final = 0.5
_log = structlog.get_logger(__name__)

Progress = Callable[[Mapping[int, int]], None]


class ArchiveBehind(Damage):
    """The archive did not reach the requested offsets in time."""


@contextmanager
def only_archiver(directory: Path) -> Iterator[bool]:
    """Hold the archive's lock. Yield False if another process holds it or has moved the file.

    An archiver of the first release holds the lock under its former name.
    """
    former = directory / former_name(LOCK)
    with exclusive(directory / LOCK) as is_held:
        if not is_held or not former.exists():
            yield is_held
            return
        with exclusive(former) as is_free:
            yield is_free


def archive_until(
    settings: Connections, ends: Mapping[int, int], *, timeout_s: float = 600.0
) -> Manifest:
    """Archive every record before `ends`, by the service or here. Return the manifest.

    Raises:
        ArchiveBehind: records are still missing after `timeout_s`.
    """
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        with only_archiver(settings.archive_dir) as is_held:
            if is_held:
                _archive_here(settings, ends, deadline)
        manifest = Manifest(settings.archive_dir)
        if manifest.covers(ends):
            return manifest
        (settings.archive_dir / FLUSH).touch()
        time.sleep(_WAIT_S)
    manifest = Manifest(settings.archive_dir)
    behind = {p: end - manifest.next_offset(p) for p, end in ends.items()}
    problem = f"{settings.archive_dir}: records missing per partition after {timeout_s} s: {behind}"
    kept = "what is archived is kept, nothing was computed"
    raise ArchiveBehind(problem, kept, "`inventory status` shows if broker and archiver run")


def _archive_here(settings: Connections, ends: Mapping[int, int], deadline: float) -> None:
    manifest = Manifest(settings.archive_dir)
    if manifest.covers(ends):
        refuse_other_log(settings, {number: manifest.next_offset(number) for number in ends})
        return
    writers = open_writers(
        settings.archive_dir,
        partitions=settings.partitions,
        generation=settings.generation,
    )
    starts = checked_starts(settings, writers)
    tail = kafka.Tail(settings.kafka_bootstrap, STOCK_EVENTS, settings.partitions, starts)
    for message in tail.read_until(ends, deadline=deadline):
        if message.error() is None:
            writers[message.partition()].take(arrival(message))
    for writer in writers:
        writer.roll()


def follow(
    settings: Connections, *, should_continue: Callable[[], bool], progress: Progress
) -> None:
    """Archive new records while `should_continue()` is true, then write the buffered ones.

    Also end when another process asks for the lock, so that it can move the archive away.
    """
    given_up = settings.archive_dir / RELEASE_REQUEST
    given_up.unlink(missing_ok=True)  # left by a command that was killed
    writers = open_writers(
        settings.archive_dir,
        partitions=settings.partitions,
        generation=settings.generation,
    )
    starts = checked_starts(settings, writers)
    client = kafka.consumer(settings.kafka_bootstrap)
    client.assign([_assignment(number, starts) for number in range(settings.partitions)])
    _log.info("archiver follows", topic=STOCK_EVENTS, next_offsets=starts)
    request = _FlushRequest(settings.archive_dir / FLUSH)
    try:
        while should_continue() and not given_up.exists():
            is_flush_due = request.is_new()
            for message in kafka.records(client):
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


class _FlushRequest:
    """A file that a run touches when it can't wait for the next regular roll."""

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
    """Return the next offset of each partition.

    Raises:
        BrokenArchive: the topic was truncated, or deleted and recreated.
    """
    starts = {writer.partition: writer.next_offset for writer in writers}
    refuse_other_log(settings, starts)
    return starts


def _assignment(number: int, starts: Mapping[int, int]) -> TopicPartition:
    return TopicPartition(STOCK_EVENTS, number, starts[number] or OFFSET_BEGINNING)

"""Complete the archive up to the offsets that a run needs.

If the archiver service runs, it holds the archive's lock. The run then waits until the service has
archived the records. Otherwise the run archives the missing records itself.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException

from analytics import kafka
from analytics.archive.follow import checked_starts, only_archiver
from analytics.archive.manifest import Manifest
from analytics.archive.names import FLUSH
from analytics.archive.source import refuse_other_log, refuse_other_source
from analytics.archive.writer import arrival, open_writers
from analytics.damage import Damage
from cdc.contracts.topics import STOCK_EVENTS
from cdc.settings import Connections

_WAIT_S: Final = 0.5
_READ_AFTER_S: Final = 2.0
_REPORT_RECORDS: Final = 20_000
_KEPT: Final = "the archived records are kept, nothing was computed"
_SHOWS: Final = "`inventory status` shows whether broker and archiver run"
Report = Callable[[int, int], None]  # records archived so far, records missing at the start


def no_report(_archived: int, _missing: int) -> None:
    """Do nothing: the default `report` of callers that print no progress."""


class ArchiveBehind(Damage):
    """The archive did not reach the requested offsets in time."""


@dataclass(slots=True)
class MissingRecords:
    """A counter of the records before the offsets `ends` that are not archived yet.

    `none_left` raises an error if this number doesn't change for `timeout_s` seconds.
    """

    directory: Path
    ends: Mapping[int, int]
    timeout_s: float
    report: Report
    clock: Callable[[], float] = time.monotonic
    _first: int | None = None
    _left: int = 0
    _since: float = 0.0

    def none_left(self, next_offsets: Mapping[int, int]) -> bool:
        """Return True if every record before `ends` is archived.

        If the number of missing records has changed since the last call, call `report`.

        Raises:
            ArchiveBehind: the number of missing records was the same for `timeout_s`.
        """
        behind = {n: end - next_offsets[n] for n, end in self.ends.items() if next_offsets[n] < end}
        left = sum(behind.values())
        if self._first is None:
            self._first, self._left, self._since = left, left, self.clock()
        elif left != self._left:
            # The number can rise, because `rearchive` starts a new archive at offset 0.
            self._first = max(self._first, left)
            self._left, self._since = left, self.clock()
            self.report(self._first - left, self._first)
        if left and self.clock() - self._since >= self.timeout_s:
            problem = (
                f"{self.directory}: no record was archived for {self.timeout_s:.0f} s; missing by "
                f"partition: {behind}"
            )
            raise ArchiveBehind(problem, _KEPT, _SHOWS)
        return not left

    def is_unchanged_for(self, seconds: float) -> bool:
        """Return True if the number of missing records has been the same for `seconds`."""
        return self.clock() - self._since >= seconds


def archive_until(
    settings: Connections,
    ends: Mapping[int, int],
    *,
    timeout_s: float = 600.0,
    report: Report = no_report,
) -> Manifest:
    """Make sure that every record before `ends` is archived. Return the manifest.

    If the archiver service runs, wait for it. Otherwise this process archives the records. The call
    fails if the archive gets no record for `timeout_s`; it has no other time limit. `report` gets
    two numbers: records archived since the start of the call, and records missing at that time.

    The last offsets before an end may have no record: Kafka uses some offsets for transaction
    markers and aborted records. Then the manifest ends below this end, but nothing is missing.

    Raises:
        ArchiveBehind: records are missing, and none was archived for `timeout_s`.
        BrokenArchive: the topic was truncated, or deleted and recreated.
    """
    missing = MissingRecords(settings.archive_dir, ends, timeout_s, report)
    manifest = Manifest(settings.archive_dir)
    missing.none_left(_reached(manifest, ends))
    while True:
        with only_archiver(settings.archive_dir) as is_held:
            if is_held:
                _archive_here(settings, missing)
                missing.none_left(ends)
                return Manifest(settings.archive_dir)
        manifest = Manifest(settings.archive_dir)  # `compact` may have exchanged the directory
        if missing.none_left(_reached(manifest, ends)):
            return manifest
        if missing.is_unchanged_for(_READ_AFTER_S) and not _may_have_records(
            settings, manifest, ends
        ):
            missing.none_left(ends)
            return manifest
        (settings.archive_dir / FLUSH).touch()
        time.sleep(_WAIT_S)


def _reached(manifest: Manifest, ends: Mapping[int, int]) -> dict[int, int]:
    return {number: manifest.next_offset(number) for number in ends}


def _may_have_records(settings: Connections, manifest: Manifest, ends: Mapping[int, int]) -> bool:
    """Return False if the topic has no committed record from the archive's end to `ends`.

    If the broker doesn't answer, return True: the archiver may still continue.

    Raises:
        BrokenArchive: the topic was deleted and created again.
    """
    starts = _reached(manifest, ends)
    tail = kafka.Tail(settings.kafka_bootstrap, STOCK_EVENTS, settings.partitions, starts)
    try:
        topic_id = kafka.topic_id(settings.kafka_bootstrap, STOCK_EVENTS)
        refuse_other_source(settings.archive_dir, topic_id)
        with closing(tail.read_until(ends)) as found:
            return next(found, None) is not None
    except (KafkaException, kafka.TopicUnreadable):
        return True


def _archive_here(settings: Connections, missing: MissingRecords) -> None:
    ends, manifest = missing.ends, Manifest(settings.archive_dir)
    if manifest.covers(ends):
        refuse_other_log(settings, _reached(manifest, ends))
        return
    writers = open_writers(
        settings.archive_dir,
        partitions=settings.partitions,
        generation=settings.generation,
    )
    starts = checked_starts(settings, writers)
    tail = kafka.Tail(settings.kafka_bootstrap, STOCK_EVENTS, settings.partitions, starts)
    problem = ""
    try:
        for count, message in enumerate(tail.read_until(ends)):
            if message.error() is None:
                writers[message.partition()].take(arrival(message))
            if count % _REPORT_RECORDS == 0:
                missing.none_left({writer.partition: writer.next_offset for writer in writers})
    except kafka.TopicUnreadable as error:
        problem = str(error)
    for writer in writers:
        writer.roll()
    if problem:
        raise ArchiveBehind(problem, _KEPT, _SHOWS)

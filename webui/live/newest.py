"""The newest changelog record of each key, until the hub gets them all at once.

An item that sells fast can change many times a second. Only the newest of its records reaches the
hub, which renders it. So the work for open pages depends on the number of changed keys, not on the
number of records.
"""

from typing import Any, Final, TypeAlias

from aiokafka import ConsumerRecord

from cdc.contracts.progress import is_heartbeat, progress_in
from cdc.contracts.versions import with_position
from webui.live.hub import Hub

# Time between two publications to the hub. Each publication is an event for every open page, and a
# person doesn't notice a delay of 50 ms.
PUBLISH_EVERY_S: Final = 0.05

Record: TypeAlias = "ConsumerRecord[bytes, bytes]"


class Newest:
    """The newest records by key and as-of times by partition that the hub doesn't have yet."""

    def __init__(self, hub: Hub[Any]) -> None:
        self._hub = hub
        self._records: dict[bytes, Record] = {}
        self._as_of_us: dict[int, int] = {}
        self._replaced = 0
        self._published_at = float("-inf")

    def add(self, record: Record) -> None:
        """Keep a record as the newest of its key, and its as-of time as that of its partition.

        Of a heartbeat, keep only the as-of time.

        Raises:
            UnreadableRecord: this code doesn't know the version of the record's progress.
        """
        with with_position(record):
            progress = progress_in(record.headers)
        if progress is not None and progress.newest_commit_us is not None:
            self._as_of_us[record.partition] = progress.newest_commit_us
        key = record.key
        if key is not None and record.value is not None and not is_heartbeat(key):
            self._replaced += key in self._records
            self._records[key] = record

    def wait_s(self, now: float) -> float:
        """Return the seconds until the next publication; `now` is by the event loop's clock."""
        return max(0.0, self._published_at + PUBLISH_EVERY_S - now)

    def publish(self, now: float) -> None:
        """Give the hub all records, and then the as-of times up to which its figures are complete.

        Raises:
            UnreadableRecord: this code doesn't know a record's version.
        """
        if not self._records and not self._as_of_us:
            return
        records, self._records = self._records, {}
        as_of_us, self._as_of_us = self._as_of_us, {}
        self._hub.records += self._replaced
        self._replaced = 0
        self._published_at = now
        for key, record in records.items():
            with with_position(record):
                self._hub.publish(key.decode("utf-8", "replace"), record.value or b"")
        for partition, commit_us in as_of_us.items():
            self._hub.advance_as_of(partition, commit_us)

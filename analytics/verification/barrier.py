"""Wait until the pipeline has caught up with a moment, or report its lag.

One connector task emits changes in commit order. So a partition that has applied a heartbeat row
from after the moment has also applied all changes from before the moment. The sinks read the
workers' output topics. After the heartbeats of all partitions are applied, the end offsets of these
topics are read. Each sink must pass them.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg

from analytics import kafka
from cdc.contracts.topics import (
    ON_HAND_CHANGELOG,
    SALES_WINDOWS_CHANGELOG,
    STOCK_LATE,
    STOCK_REJECTED,
    output_topics,
)
from cdc.deciding import deciding_revision
from cdc.settings import Connections

SHOWN: Final = (ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG, STOCK_LATE, STOCK_REJECTED)
_EVERY_S: Final = 0.2
_BEATS_S: Final = 10.0
_NAMED: Final = 20  # keys in a message
_NOW: Final = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
_BEATS: Final = "SELECT partition, commit_us FROM read_model.heartbeat"
_SINKS: Final = "SELECT sink, topic, partition, next_offset FROM read_model.sink_position"

SinkPartition = tuple[str, str, int]  # sink, topic, partition


class NotCaughtUp(RuntimeError):
    """The pipeline did not process all changes up to a moment in time.

    `behind` has what is missing: partitions without a new heartbeat, the number of records that
    each sink has not applied, or keys whose comparison is undecided.
    """

    def __init__(self, behind: dict[str, Any], timeout_s: float) -> None:
        super().__init__(
            f"the pipeline has not processed all changes after {timeout_s:g} s: {behind}"
        )
        self.behind = behind
        self.timeout_s = timeout_s

    def with_undecided(self, keys: list[str]) -> "NotCaughtUp":
        """Return the same error with `keys`, which differed in an earlier comparison."""
        return NotCaughtUp({**self.behind, "keys undecided": keys[:_NAMED]}, self.timeout_s)


@dataclass(slots=True)
class Barrier:
    """A series of waits for the pipeline, over one autocommit connection and with one deadline."""

    settings: Connections
    connection: psycopg.Connection
    timeout_s: float
    deadline: float = field(init=False)

    def __post_init__(self) -> None:
        self.deadline = time.monotonic() + self.timeout_s

    @property
    def remaining_s(self) -> float:
        """Return the seconds until the deadline, but at least 10, so that heartbeats can arrive."""
        return max(_BEATS_S, self.deadline - time.monotonic())

    def wait_until_now(self) -> int:
        """Wait until the read model includes everything committed before this call.

        Return the time of the call, in microseconds since 1970 UTC.

        Raises:
            NotCaughtUp: the deadline came first.
        """
        moment_us = self._one(_NOW)
        self.wait_until(moment_us)
        return moment_us

    def wait_until(self, moment_us: int) -> None:
        """Wait until workers and read model include everything committed before `moment_us`.

        Raises:
            NotCaughtUp: the deadline came first.
        """
        self._wait(lambda: self._partitions_behind(moment_us))
        ends = {
            (sink, topic, number): end
            for sink, topics in self._topics_by_sink().items()
            for topic in topics
            for number, end in kafka.end_offsets(
                self.settings.kafka_bootstrap, topic, self.settings.partitions
            ).items()
        }
        self._wait(lambda: self._sinks_behind(ends))

    def _wait(self, behind: Any) -> None:  # noqa: ANN401 -- a closure that describes what is missing
        missing = behind()
        while missing:
            if time.monotonic() > self.deadline:
                raise NotCaughtUp(missing, self.timeout_s)
            time.sleep(_EVERY_S)
            missing = behind()

    def _topics_by_sink(self) -> dict[str, tuple[str, ...]]:
        """Return the topics that each sink reads."""
        # The actuator follows the deciding revision, which may differ from that of this code.
        decides = output_topics(deciding_revision(self.connection))
        return {"projector": SHOWN, "actuator": (decides.reorder_events, decides.price_events)}

    def _partitions_behind(self, moment_us: int) -> dict[str, Any]:
        beats: dict[int, int] = {
            number: commit_us or 0 for number, commit_us in self.connection.execute(_BEATS)
        }
        behind = {
            f"partition {number}": "no heartbeat applied yet"
            if number not in beats
            else f"applied up to {(moment_us - beats[number]) / 1e6:.1f} s before this call"
            for number in range(self.settings.partitions)
            if beats.get(number, 0) < moment_us
        }
        return {"heartbeats": behind} if behind else {}

    def _sinks_behind(self, ends: dict[SinkPartition, int]) -> dict[str, Any]:
        rows = self.connection.execute(_SINKS).fetchall()
        at: dict[SinkPartition, int] = {
            (sink, topic, number): next_at for sink, topic, number, next_at in rows
        }
        suspects = [
            sink_partition
            for sink_partition, end in ends.items()
            if at.get(sink_partition, 0) < end
        ]
        behind: dict[str, int] = {}
        for (sink, topic), sink_partitions in _by_topic(suspects).items():
            starts = {number: at.get((sink, topic, number), 0) for number in sink_partitions}
            count = self._waiting(topic, starts, {n: ends[sink, topic, n] for n in sink_partitions})
            if count:
                behind[f"{sink} on {topic}"] = count
        return {"records not shown": behind} if behind else {}

    def _waiting(self, topic: str, starts: dict[int, int], ends: dict[int, int]) -> int:
        """Return the number of committed records from `starts` to `ends`.

        Transaction markers don't count.
        """
        tail = kafka.Tail(self.settings.kafka_bootstrap, topic, self.settings.partitions, starts)
        messages = tail.read_until(ends, deadline=time.monotonic() + kafka.TIMEOUT_S)
        return sum(message.error() is None for message in messages)

    def _one(self, statement: str) -> int:
        row = self.connection.execute(statement).fetchone()
        if row is None:
            problem = f"no row from {statement!r}"
            raise RuntimeError(problem)
        return int(row[0])


def _by_topic(sink_partitions: Iterable[SinkPartition]) -> dict[tuple[str, str], list[int]]:
    grouped: dict[tuple[str, str], list[int]] = {}
    for sink, topic, number in sink_partitions:
        grouped.setdefault((sink, topic), []).append(number)
    return grouped

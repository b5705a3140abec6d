"""Wait until the pipeline has caught up with a moment, and a report of the lag if it doesn't.

One connector task emits in commit order. Take a heartbeat row committed after the moment. Once it
is applied on a partition, everything committed before it on that partition is applied too. The
sinks read other topics as well; each must have passed the end offset of that time.
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
    written_by,
)
from cdc.settings import Connections
from inventory.revision import LOGIC_REVISION

SHOWN: Final = (ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG, STOCK_LATE, STOCK_REJECTED)
_EVERY_S: Final = 0.2
_BEATS_S: Final = 10.0
_NAMED: Final = 20  # keys in a message
_NOW: Final = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
_BEATS: Final = "SELECT partition, commit_us FROM read_model.heartbeat"
# The actuator follows the revision that decides, which need not be that of this code.
_DECIDES: Final = """
SELECT coalesce((SELECT revision FROM app.revision_switch ORDER BY id DESC LIMIT 1), %s)
"""
_SINKS: Final = "SELECT sink, topic, partition, next_offset FROM read_model.sink_position"

Place = tuple[str, str, int]  # sink, topic, partition


class NotCaughtUp(RuntimeError):
    """The pipeline did not reach the moment in time; `behind` holds what is missing."""

    def __init__(self, behind: dict[str, Any], timeout_s: float) -> None:
        super().__init__(f"not caught up after {timeout_s:g} s: {behind}")
        self.behind = behind
        self.timeout_s = timeout_s

    def with_undecided(self, keys: list[str]) -> "NotCaughtUp":
        """Return the same error with keys that differed at an earlier cut."""
        return NotCaughtUp({**self.behind, "keys undecided": keys[:_NAMED]}, self.timeout_s)


@dataclass(slots=True)
class Barrier:
    """A wait on one connection in autocommit mode; all waits share the deadline."""

    settings: Connections
    connection: psycopg.Connection
    timeout_s: float
    deadline: float = field(init=False)

    def __post_init__(self) -> None:
        self.deadline = time.monotonic() + self.timeout_s

    @property
    def remaining_s(self) -> float:
        """Seconds until the deadline, but at least 10 s for some heartbeats."""
        return max(_BEATS_S, self.deadline - time.monotonic())

    def pass_now(self) -> int:
        """Wait until everything committed before this call is applied and shown; return its moment.

        Raises:
            NotCaughtUp: the deadline came first.
        """
        asked_us = self._one(_NOW)
        self.pass_moment(asked_us)
        return asked_us

    def pass_moment(self, asked_us: int) -> None:
        """Wait until everything committed before this moment is applied and shown.

        Raises:
            NotCaughtUp: the deadline came first.
        """
        self._wait(lambda: self._partitions_behind(asked_us))
        ends = {
            (sink, topic, number): end
            for sink, topics in self._feeds().items()
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

    def _feeds(self) -> dict[str, tuple[str, ...]]:
        """Return the topics that each sink reads."""
        decides = written_by(self._one(_DECIDES, (LOGIC_REVISION,)))
        return {"projector": SHOWN, "actuator": (decides.reorder_events, decides.price_events)}

    def _partitions_behind(self, asked_us: int) -> dict[str, Any]:
        beats: dict[int, int] = {
            number: commit_us or 0 for number, commit_us in self.connection.execute(_BEATS)
        }
        behind = {
            f"partition {number}": "no heartbeat applied yet"
            if number not in beats
            else f"applied up to {(asked_us - beats[number]) / 1e6:.1f} s before the question"
            for number in range(self.settings.partitions)
            if beats.get(number, 0) < asked_us
        }
        return {"heartbeats": behind} if behind else {}

    def _sinks_behind(self, ends: dict[Place, int]) -> dict[str, Any]:
        rows = self.connection.execute(_SINKS).fetchall()
        at: dict[Place, int] = {
            (sink, topic, number): next_at for sink, topic, number, next_at in rows
        }
        suspects = [place for place, end in ends.items() if at.get(place, 0) < end]
        behind: dict[str, int] = {}
        for (sink, topic), places in _by_topic(suspects).items():
            starts = {number: at.get((sink, topic, number), 0) for number in places}
            count = self._waiting(topic, starts, {n: ends[sink, topic, n] for n in places})
            if count:
                behind[f"{sink} on {topic}"] = count
        return {"records not shown": behind} if behind else {}

    def _waiting(self, topic: str, starts: dict[int, int], ends: dict[int, int]) -> int:
        """Return the number of committed records from `starts` to `ends`, without markers."""
        tail = kafka.Tail(self.settings.kafka_bootstrap, topic, self.settings.partitions, starts)
        messages = tail.read_until(ends, deadline=time.monotonic() + kafka.TIMEOUT_S)
        return sum(message.error() is None for message in messages)

    def _one(self, statement: str, parameters: tuple[int, ...] = ()) -> int:
        row = self.connection.execute(statement, parameters).fetchone()
        if row is None:
            problem = f"no row from {statement!r}"
            raise RuntimeError(problem)
        return int(row[0])


def _by_topic(places: Iterable[Place]) -> dict[tuple[str, str], list[int]]:
    grouped: dict[tuple[str, str], list[int]] = {}
    for sink, topic, number in places:
        grouped.setdefault((sink, topic), []).append(number)
    return grouped

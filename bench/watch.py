"""Observers that record when a key becomes readable in the changelog or the read model."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Self

import psycopg
from confluent_kafka import OFFSET_END, Consumer, TopicPartition

from bench.errors import BenchFailed
from cdc.contracts.topics import ON_HAND_CHANGELOG
from cdc.settings import Connections

_POLL_S: Final = 0.005
_SHOWN: Final = "SELECT inv_key FROM read_model.stock WHERE inv_key = ANY (%s)"


@dataclass(slots=True)
class _Watch:
    """A thread that records when each key was first seen."""

    seen: dict[str, float] = field(default_factory=dict)
    ends: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self, work: Callable[[], None]) -> None:
        """Run `work` in the thread."""
        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Set `ends` and wait for the thread. `work` must return when `ends` is set."""
        self.ends.set()
        if self._thread is not None:
            self._thread.join()

    def until(self, wanted: set[str], what: str, timeout_s: float) -> dict[str, float]:
        """Return the time at which each wanted key was first seen, on the monotonic clock.

        Raises:
            BenchFailed: a key was not seen within `timeout_s` seconds.
        """
        deadline = time.monotonic() + timeout_s
        while not wanted <= self.seen.keys():
            if time.monotonic() > deadline:
                missing = len(wanted - self.seen.keys())
                problem = f"{what}: {missing} of {len(wanted)} keys not seen in {timeout_s:g} s"
                raise BenchFailed(problem)
            time.sleep(_POLL_S)
        return {key: self.seen[key] for key in wanted}


class Changelog:
    """An observer that records when the first level record of each key becomes readable."""

    def __init__(self, settings: Connections) -> None:
        self._watch = _Watch()
        self._client = Consumer(
            {
                "bootstrap.servers": settings.kafka_bootstrap,
                "group.id": "inventory-bench",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": 10,
            }
        )
        self._partitions = settings.partitions

    def __enter__(self) -> Self:
        self._client.assign(
            [TopicPartition(ON_HAND_CHANGELOG, n, OFFSET_END) for n in range(self._partitions)]
        )
        # The first fetch finds the end offsets, from which this consumer reads.
        self._client.consume(1, timeout=2.0)
        self._watch.start(self._read)
        return self

    def __exit__(self, *_error: object) -> None:
        self._watch.stop()
        self._client.close()

    def wait(self, wanted: set[str], *, timeout_s: float) -> dict[str, float]:
        """Return the monotonic time at which each wanted key was first seen.

        Raises:
            BenchFailed: a key was not seen within `timeout_s` seconds.
        """
        return self._watch.until(wanted, ON_HAND_CHANGELOG, timeout_s)

    def _read(self) -> None:
        while not self._watch.ends.is_set():
            messages = self._client.consume(1000, timeout=0.01)
            now = time.monotonic()
            for message in messages:
                if message.error() is None:
                    self._watch.seen.setdefault(message.key().decode(), now)


class ReadModel:
    """An observer that records when each committed key first has a row in the read model.

    It queries Postgres every `poll_s` seconds while a key is missing.
    """

    def __init__(self, url: str, committed: dict[str, float], *, poll_s: float = _POLL_S) -> None:
        self._watch = _Watch()
        self._poll_s = poll_s
        self._committed = committed
        self._connection = psycopg.connect(url, autocommit=True)

    def __enter__(self) -> Self:
        self._watch.start(self._read)
        return self

    def __exit__(self, *_error: object) -> None:
        self._watch.stop()
        self._connection.close()

    def wait(self, *, timeout_s: float) -> dict[str, float]:
        """Return the monotonic time at which each committed key was first seen.

        Raises:
            BenchFailed: a key was not seen within `timeout_s` seconds.
        """
        return self._watch.until(set(self._committed), "read_model.stock", timeout_s)

    def _read(self) -> None:
        while not self._watch.ends.is_set():
            waiting = [key for key in list(self._committed) if key not in self._watch.seen]
            if waiting:
                rows = self._connection.execute(_SHOWN, (waiting,)).fetchall()
                now = time.monotonic()
                for (key,) in rows:
                    self._watch.seen.setdefault(key, now)
            time.sleep(self._poll_s)

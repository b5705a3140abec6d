"""The latest record per key, and the open streams that subscribe to keys.

A subscriber holds at most one pending patch per key of its page. So a slow client uses limited
memory and delays no other client. Everything here runs on the server's event loop.
"""

import asyncio
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from django.utils import translation

from cdc.contracts.partition import partition_of

P = TypeVar("P")  # a patch, as the hub's `render` returns it

# Number of keys whose latest record is kept, for pages rendered from an older read model.
REMEMBERED_KEYS = 20_000
# If the read model is more than 2 s behind the changelog, pages show the age of the read model.
# Each partition gets a heartbeat every second, so a projector that runs is about 1 s behind.
LAG_US = 2_000_000


@dataclass(slots=True)
class Subscriber(Generic[P]):
    """An open stream, with the keys and the language of its page and the patches not sent yet.

    `partitions` are the partitions of the page's keys.
    """

    keys: frozenset[str]
    language: str = ""
    pending: dict[str, P] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    partitions: frozenset[int] = field(init=False)

    def __post_init__(self) -> None:
        """Compute the partitions once, because each event `age` needs them."""
        self.partitions = frozenset(partition_of(key.encode()) for key in self.keys)

    def take(self) -> dict[str, P]:
        """Return every pending patch by key, and clear them."""
        taken, self.pending = self.pending, {}
        self.changed.clear()
        return taken


class Hub(Generic[P]):
    """Distributes changelog records to the open streams of a web process.

    The hub calls `render` once per change and language of the open pages. `render` returns the
    patch of a record, in the active language.
    """

    def __init__(self, render: Callable[[bytes], P]) -> None:
        self._render = render
        self._latest: OrderedDict[str, bytes] = OrderedDict()
        self._watching: dict[str, set[int]] = defaultdict(set)
        self._subscribers: dict[int, Subscriber[P]] = {}
        self._as_of_us: dict[int, int] = {}
        self._read_model_us: dict[int, int] = {}
        self.connected = False
        self.closing = False
        self.records = 0
        self.failure = ""
        self.failed_at_us: int | None = None

    @property
    def streams(self) -> int:
        """Number of open streams."""
        return len(self._subscribers)

    @property
    def latest(self) -> Mapping[str, bytes]:
        """The latest record of each remembered key."""
        return self._latest

    def note_failure(self, failure: str) -> None:
        """Keep the newest failure of the feed and its time, for the page System."""
        self.failure, self.failed_at_us = failure, time.time_ns() // 1000

    def subscribe(self, keys: Iterable[str], language: str = "") -> Subscriber[P]:
        """Return a subscriber, with a pending patch for each key that this hub remembers.

        The patches are in `language`, or in the language of the sources if `language` is empty.
        """
        subscriber = Subscriber[P](frozenset(keys), language)
        self._subscribers[id(subscriber)] = subscriber
        for key in subscriber.keys:
            self._watching[key].add(id(subscriber))
            if key in self._latest:
                subscriber.pending[key] = self._rendered(self._latest[key], language)
        if subscriber.pending:
            subscriber.changed.set()
        return subscriber

    def unsubscribe(self, subscriber: Subscriber[P]) -> None:
        """Remove the subscriber."""
        self._subscribers.pop(id(subscriber), None)
        for key in subscriber.keys:
            watching = self._watching.get(key)
            if watching is not None:
                watching.discard(id(subscriber))
                if not watching:
                    del self._watching[key]

    def publish(self, key: str, content: bytes) -> None:
        """Store the newest record of a key; add its patch to every stream that follows the key."""
        self.records += 1
        self._latest[key] = content
        self._latest.move_to_end(key)
        if len(self._latest) > REMEMBERED_KEYS:
            self._latest.popitem(last=False)
        watching = self._watching.get(key)
        if not watching:
            return
        patches: dict[str, P] = {}  # by language of the open pages
        for number in watching:
            subscriber = self._subscribers[number]
            language = subscriber.language
            if language not in patches:
                patches[language] = self._rendered(content, language)
            subscriber.pending[key] = patches[language]
            subscriber.changed.set()

    def _rendered(self, content: bytes, language: str) -> P:
        with translation.override(language or None):
            return self._render(content)

    def advance_as_of(self, partition: int, commit_us: int) -> None:
        """Record that the figures of the partition are complete up to this commit time.

        The time is in microseconds since 1970 UTC. An older time than before changes nothing.
        """
        self._as_of_us[partition] = max(commit_us, self._as_of_us.get(partition, 0))

    def as_of_by_partition(self, partitions: Iterable[int]) -> dict[int, int]:
        """Return the as-of times in microseconds by partition; leave out partitions without one."""
        return {n: self._as_of_us[n] for n in partitions if n in self._as_of_us}

    def note_read_model(self, as_of_us: Mapping[int, int]) -> None:
        """Replace the read model's as-of times by partition, in microseconds since 1970 UTC."""
        self._read_model_us = dict(as_of_us)

    def feed_as_of_us(self) -> int | None:
        """Return the oldest as-of time of the changelog's known partitions; None if none is known.

        The time is in microseconds since 1970 UTC.
        """
        return min(self._as_of_us.values(), default=None)

    def as_of_us(self, partitions: Iterable[int] = ()) -> int | None:
        """Return the oldest as-of time of `partitions`; if empty, of all known partitions.

        Pages show figures of the changelog and lists of the read model. So each partition has two
        as-of times. Normally, the time of the changelog counts. If the read model is more than
        `LAG_US` behind the changelog, the time of the read model counts. The result is in
        microseconds since 1970 UTC. It is None if a partition lacks one of the two times.
        """
        wanted = list(partitions) or list(self._as_of_us)
        known = [at_us for number in wanted if (at_us := self._shown_us(number)) is not None]
        return min(known) if known and len(known) == len(wanted) else None

    def _shown_us(self, partition: int) -> int | None:
        feed_us, lists_us = self._as_of_us.get(partition), self._read_model_us.get(partition)
        if feed_us is None or lists_us is None:
            return None
        return feed_us if feed_us - lists_us <= LAG_US else lists_us

    def close(self) -> None:
        """Wake every stream so that it ends and the server can stop."""
        self.closing = True
        for subscriber in self._subscribers.values():
            subscriber.changed.set()

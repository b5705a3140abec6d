"""Comparison of the states of every key under two logic revisions, byte for byte.

The comparison leaves out the revision's number. It also leaves out data that depends on the chunks
into which a worker divided the log: the window rows in a level record, and the position of a window
row.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final

import orjson

from analytics import kafka
from cdc.contracts.progress import is_heartbeat
from cdc.contracts.topics import output_topics
from cdc.contracts.versions import document_of
from cdc.settings import Connections

_CHUNK_FIELDS: Final = ("logic_revision", "rows", "dropped")
_DIGEST_BYTES: Final = 16


@dataclass(slots=True)
class _Key:
    """Offset and digest of a key's level, which is the key's state record in the changelog.

    `windows` has the offset and the digest of each window row, by the start of its ten minutes.
    """

    offset: int = -1
    digest: bytes = b""
    windows: dict[int, tuple[int, bytes]] = field(default_factory=dict)

    def content(self) -> tuple[bytes, dict[int, bytes]]:
        return self.digest, {start: digest for start, (_, digest) in self.windows.items()}

    def newest_offset(self) -> int:
        return max([self.offset, *(offset for offset, _ in self.windows.values())])


@dataclass(frozen=True, slots=True)
class StateComparison:
    """Numbers of equal and of moving keys, and the names of the keys that differ.

    The barrier has the offsets at which both revisions are compared. A key with different states
    counts as moving if it has records at or after the barrier.
    """

    equal: int
    moving: int
    differing: tuple[str, ...]

    def as_json(self, most: int = 50) -> dict[str, Any]:
        """Return the report for scripts, with the names of at most `most` differing keys."""
        names = list(self.differing[:most])
        return {
            "equal": self.equal,
            "moving": self.moving,
            "differing": len(self.differing),
            "keys": names,
        }


def compare_states(
    settings: Connections, former: int, fresh: int, barrier: dict[int, int], timeout_s: float
) -> StateComparison:
    """Return a comparison of the state and the sales windows of every key under both revisions.

    `former` and `fresh` are the numbers of the revisions. `barrier` has an offset per partition.
    """
    deadline = time.monotonic() + timeout_s
    old, partition_of = _states(settings, former, deadline)
    new, more = _states(settings, fresh, deadline)
    partition_of |= more
    equal, moving, differing = 0, 0, []
    for key in sorted(old.keys() | new.keys()):
        one, other = old.get(key, _Key()), new.get(key, _Key())
        if one.content() == other.content():
            equal += 1
        elif max(one.newest_offset(), other.newest_offset()) >= barrier[partition_of[key]]:
            moving += 1
        else:
            differing.append(key.decode("utf-8", "replace"))
    return StateComparison(equal, moving, tuple(differing))


def _states(
    settings: Connections, revision: int, deadline: float
) -> tuple[dict[bytes, _Key], dict[bytes, int]]:
    names = output_topics(revision)
    found: dict[bytes, _Key] = {}
    partition_of: dict[bytes, int] = {}
    for message in _records(settings, names.on_hand_changelog, deadline):
        with kafka.with_position(message):
            document = document_of("level", message.value(), orjson.loads)
        state = found.setdefault(message.key(), _Key())
        state.offset = document["position"]["offset"]
        kept = {name: value for name, value in document.items() if name not in _CHUNK_FIELDS}
        state.digest = _digest(kept)
        partition_of[message.key()] = message.partition()
    for message in _records(settings, names.sales_windows_changelog, deadline):
        with kafka.with_position(message):
            document = document_of("window", message.value(), orjson.loads)
        key, _, start = message.key().rpartition(b"@")
        state = found.setdefault(key, _Key())
        state.windows[int(start)] = document["position"]["offset"], _digest(document["row"])
        partition_of[key] = message.partition()
    return found, partition_of


def _records(settings: Connections, topic: str, deadline: float) -> Iterator[Any]:
    tail = kafka.Tail(settings.kafka_bootstrap, topic, settings.partitions)
    for message in tail.read(deadline=deadline):
        if (
            message.error() is None
            and message.value() is not None
            and not is_heartbeat(message.key())
        ):
            yield message


def _digest(document: dict[str, Any]) -> bytes:
    content = orjson.dumps(document, option=orjson.OPT_SORT_KEYS)
    return blake2b(content, digest_size=_DIGEST_BYTES).digest()

"""Decisions that the workers of the deciding revision published, one partition at a time.

`reorder.events` and `price.events` are compacted by key, and a worker publishes only the last
revision of a chunk. So these topics hold the newest decision of each key without its earlier
revisions. The levels in the changelog repeat that decision. So `analytics.backfill.diff.pending`
can detect a record that a topic has lost.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import psycopg

from analytics import kafka
from analytics.backfill.diff.revised import PRICE, REORDER, Revised, price, reorder
from analytics.live_state import LiveState
from cdc.contracts.decisions import SIMULATED_PREFIX, decode_price, decode_reorder
from cdc.contracts.progress import Progress, is_heartbeat, progress_in
from cdc.contracts.state import decode_level
from cdc.contracts.topics import STOCK_EVENTS, output_topics
from cdc.contracts.versions import UnknownVersion, UnreadableRecord
from cdc.deciding import deciding_revision
from cdc.settings import Connections
from inventory.model.ids import InvKey
from inventory.model.outputs import Output
from inventory.model.state import KeyState
from inventory.revision import LOGIC_REVISION

Read = Callable[[str, int], Iterator[Any]]  # topic and partition -> committed messages up to now
KindAndKey = tuple[str, bytes]

_DECODERS: Final[Mapping[str, Callable[[bytes], Revised]]] = {
    REORDER: lambda content: reorder(decode_reorder(content)),
    PRICE: lambda content: price(decode_price(content)),
}


@dataclass(frozen=True, slots=True)
class Live:
    """Access to the live state: deciding revision, topic id of `stock.events`, and two readers.

    `read` reads a partition of a topic. `state` returns a key's complete state, or None for workers
    of another revision than this code.
    """

    revision: int
    topic_id: str
    read: Read
    state: Callable[[int, InvKey], KeyState | None]


@dataclass(frozen=True, slots=True)
class PublishedPartition:
    """The newest decisions of one partition, from the topics of decisions and the changelog.

    `decisions` has the decisions in the topics of decisions. `levels` has the decisions that the
    keys' levels (the states in the changelog) repeat; these may be older. `progress` has the next
    offset that the workers will fold, as the newest level states it; None if no level does.
    """

    number: int
    progress: Progress | None
    levels: Mapping[KindAndKey, Output]
    decisions: Mapping[KindAndKey, Revised]

    @property
    def next_offset(self) -> int:
        """Return the first offset of `stock.events` that the levels don't include yet."""
        return 0 if self.progress is None else self.progress.next_offset


def live_of(settings: Connections) -> Live:
    """Return the access to the live state of a running stack.

    Raises:
        KafkaException: there is no broker, or the broker has no `stock.events`.
        OperationalError: Postgres, which names the deciding revision, does not answer.
    """
    url = settings.read_database_url.get_secret_value()
    with psycopg.connect(url, autocommit=True) as connection:
        revision = deciding_revision(connection)

    def state(number: int, key: InvKey) -> KeyState | None:
        if revision != LOGIC_REVISION:
            return None
        live = LiveState(settings, only=number)
        live.refresh()
        return live.state(key) if key in live.levels else None

    def read(topic: str, number: int) -> Iterator[Any]:
        asked = settings.kafka_bootstrap, topic, settings.partitions
        ends = {number: kafka.end_offsets(*asked)[number]}
        found = kafka.Tail(*asked).read_until(ends)
        return (message for message in found if message.error() is None)

    topic_id = kafka.topic_id(settings.kafka_bootstrap, STOCK_EVENTS)
    return Live(revision, topic_id, read, state)


def published(live: Live, number: int) -> PublishedPartition:
    """Read the levels (states in the changelog) of one partition, then its decisions. Return both.

    Workers write a level and its decision in one transaction. So the later read of the decisions
    finds every decision that these levels name.

    Raises:
        UnreadableRecord: another version of this code wrote a record. The error has its offset.
    """
    names = output_topics(live.revision)
    levels, progress = _levels(live.read(names.on_hand_changelog, number))
    decisions: dict[KindAndKey, Revised] = {}
    for kind, topic in ((REORDER, names.reorder_events), (PRICE, names.price_events)):
        for message in live.read(topic, number):
            found = _decision(kind, message, live.revision)
            if found is not None:
                decisions[kind, message.key()] = found
    return PublishedPartition(number, progress, levels, decisions)


def _levels(messages: Iterator[Any]) -> tuple[dict[KindAndKey, Output], Progress | None]:
    """Return the last decision in each key's newest level (state), and the partition's progress."""
    newest, progress = {}, None
    for message in messages:
        if message.value() is None:
            continue
        with kafka.with_position(message):
            progress = progress_in(message.headers() or ()) or progress
        if not is_heartbeat(message.key()):
            newest[message.key()] = message
    found: dict[KindAndKey, Output] = {}
    while newest:
        key, message = newest.popitem()
        with kafka.with_position(message):
            level, _dropped = decode_level(message.value())
        if level.episode.last_output is not None:
            found[REORDER, key] = level.episode.last_output
        if level.price_episode.last_output is not None:
            found[PRICE, key] = level.price_episode.last_output
    return found, progress


def _decision(kind: str, message: Any, revision: int) -> Revised | None:  # noqa: ANN401 -- the client has no types
    """Return the decision, or None for a record that consumers ignore.

    Consumers ignore tombstones, invalid bytes, simulated decisions and those of other revisions.
    """
    if message.value() is None:
        return None
    try:
        with kafka.with_position(message):
            found = _DECODERS[kind](message.value())
    except UnknownVersion:
        raise
    except UnreadableRecord:
        return None
    is_simulated = found.id.startswith(SIMULATED_PREFIX)
    return found if found.event.at.logic_revision == revision and not is_simulated else None

"""Rebuild of the workers' state from `stock.events`: the repair for lost or wrong changelogs.

The state of a key depends only on the records of its partition, so it can be deleted and computed
again. Decisions get the same ids and revisions again, and their consumers ignore duplicates. The
read model keeps its rows until newer ones arrive, so pages work and show the age of their data.

Each step is idempotent. If the command is interrupted, the workers stay paused. Run it again to
finish.
"""

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

from confluent_kafka import KafkaException

from analytics import kafka
from analytics.live_state import LiveState
from cdc.capture.admin import create_topics, delete_group, delete_topics
from cdc.contracts.state import encode_state
from cdc.contracts.topics import (
    APP_ID,
    ON_HAND_CHANGELOG,
    SALES_WINDOWS_CHANGELOG,
    STOCK_EVENTS,
    TOPICS,
)
from cdc.contracts.versions import UnreadableRecord
from cdc.settings import Connections
from deploy.errors import StackError
from deploy.revisions import progress
from deploy.revisions.promote import connect
from deploy.stack import service_commands
from deploy.stack.generation import PREPARE
from deploy.stack.home import Home
from deploy.stack.membership import leave
from deploy.stack.requested import REPAIR
from inventory.model.ids import InvKey
from inventory.revision import LOGIC_REVISION

CHANGELOGS: Final = (ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG)
# This service is paused, too, because its stored positions are not valid in the new topics.
_READER: Final = "projector"
_DIGEST_BYTES: Final = 16
_FORGET: Final = "DELETE FROM read_model.sink_position WHERE topic = ANY(%s)"

Progress = Callable[[str], None]
States = Mapping[InvKey, tuple[int, bytes]]  # offset and digest of each key's state


@dataclass(frozen=True, slots=True)
class RebuildReport:
    """Result of a rebuild: numbers of equal and of moved keys, and the keys that differ.

    A moved key has newer records than before, so its states can't be compared. `not_compared` is
    "", or the reason why the former state could not be read.
    """

    records: int
    seconds: float
    equal: int
    moved: int
    differing: tuple[InvKey, ...]
    not_compared: str = ""

    @property
    def exit_code(self) -> int:
        """Return 0, or 1 if a key differs."""
        return 1 if self.differing else 0

    def as_json(self, most: int = 50) -> dict[str, Any]:
        """Return the report for scripts, with the names of at most `most` differing keys."""
        return {
            "records": self.records,
            "seconds": round(self.seconds, 1),
            "keys_equal": self.equal,
            "keys_moved": self.moved,
            "keys_differing": len(self.differing),
            "not_compared": self.not_compared,
            "keys": list(self.differing[:most]),
        }


def rebuild(
    home: Home, settings: Connections, *, timeout_s: float, report: Progress
) -> RebuildReport:
    """Delete the workers' changelogs, offsets and files. Wait until workers have replayed the log.

    Return a comparison of the states before and after.

    Raises:
        StackError: no stack is ready, the source topic is incomplete, or the replay took too long.
    """
    began = time.monotonic()
    refuse_truncated_source(settings)
    with _paused(home, report) as names:
        before, problem = _fingerprints(settings)
        _delete_state(settings, names)
        report("changelogs, offsets and snapshots are deleted; the workers write them again")
    barrier = progress.ends(settings)
    progress.wait_past(settings, barrier, LOGIC_REVISION, time.monotonic() + timeout_s)
    after, _ = _fingerprints(settings)
    common = before.keys() & after.keys()
    moved = {key for key in common if after[key][0] > before[key][0]}
    equal = {key for key in common if after[key] == before[key]}
    return RebuildReport(
        records=sum(barrier.values()),
        seconds=time.monotonic() - began,
        equal=len(equal),
        moved=len(moved),
        differing=tuple(sorted(before.keys() - equal - moved)),
        not_compared=problem,
    )


def refuse_truncated_source(settings: Connections) -> None:
    """Raise `StackError` if `stock.events` lacks records that the workers' state includes."""
    asked = settings.kafka_bootstrap, STOCK_EVENTS, settings.partitions
    for number, first in kafka.start_offsets(*asked).items():
        if first > 0:
            message = (
                f"{STOCK_EVENTS}[{number}] begins at offset {first}: earlier records are missing"
            )
            raise StackError(message, repair=PREPARE)
    try:
        committed = progress.committed_progress(settings, LOGIC_REVISION)
    except (KafkaException, kafka.TopicUnreadable, UnreadableRecord):
        return  # without a readable changelog, it is unknown which records the state includes
    source, ends = kafka.topic_id(settings.kafka_bootstrap, STOCK_EVENTS), progress.ends(settings)
    for number, state in committed.items():
        if state.source_topic_id not in (None, source) or state.next_offset > ends[number]:
            message = (
                f"{STOCK_EVENTS}[{number}] has the id {source} and ends at offset {ends[number]}. "
                f"The workers' state was folded from a topic with id {state.source_topic_id}, up "
                f"to offset {state.next_offset}. So the topic was recreated, and its former "
                "records are lost"
            )
            raise StackError(message, repair=PREPARE)


@contextmanager
def _paused(home: Home, report: Progress) -> Iterator[tuple[str, ...]]:
    """Pause workers and projector until the block ends. Yield their names.

    They run again at the end of the block. After an error they stay paused.
    """
    names = service_commands.pause(home, _READER)
    report(f"{', '.join(names)} paused")
    try:
        yield names
    except Exception as error:
        message = f"{error!r}: {', '.join(names)} stay paused"
        raise StackError(message, repair=REPAIR) from error
    stopped = service_commands.resume(home)
    report(f"{', '.join(name for name in names if name not in stopped)} run again")
    if stopped:
        report(f"{', '.join(stopped)} stay stopped, as before the rebuild")


def _fingerprints(settings: Connections) -> tuple[States, str]:
    """Return a map from key to the offset and digest of its state, and "".

    If the changelogs can't be read, return an empty map, and the reason in place of "".
    """
    live = LiveState(settings)
    try:
        live.refresh()
    except (KafkaException, kafka.TopicUnreadable, UnreadableRecord) as error:
        return {}, str(error)
    keys = live.keys()
    return {key: (live.levels[key].position.offset, _digest(live, key)) for key in keys}, ""


def _digest(live: LiveState, key: InvKey) -> bytes:
    return blake2b(encode_state(live.state(key)), digest_size=_DIGEST_BYTES).digest()


def _delete_state(settings: Connections, names: Iterable[str]) -> None:
    for name in names:
        leave(settings.kafka_bootstrap, name)
    delete_group(settings.kafka_bootstrap, APP_ID)
    shutil.rmtree(settings.worker_dir, ignore_errors=True)
    delete_topics(settings.kafka_bootstrap, CHANGELOGS)
    with connect(settings) as connection:
        connection.execute(_FORGET, (list(CHANGELOGS),))
    create_topics(settings.kafka_bootstrap, [t for t in TOPICS if t.name in CHANGELOGS])

"""Needs of the deciding logic revision, read from its reorder topic.

The database snapshot has the offset up to which the actuator has applied the topic. Needs before
this offset must have proposals in the same snapshot. Later needs are in flight: their proposals may
be missing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg

from analytics import kafka
from analytics.verification.cut import Positions
from analytics.verification.reorders import Needs
from cdc.contracts.decisions import SIMULATED_PREFIX, ReorderEvent, decode_reorder
from cdc.contracts.topics import output_topics
from cdc.contracts.versions import UnreadableRecord
from cdc.deciding import deciding_revision
from cdc.settings import Connections
from inventory.revision import LOGIC_REVISION


@dataclass(frozen=True, slots=True)
class DecisionLog:
    """The topic with the needs (proposed reorders) of one revision, divided at `applied_offsets`.

    In the database snapshot of the verification, the actuator has applied the records before these
    offsets, and no later ones.
    """

    settings: Connections
    revision: int
    applied_offsets: dict[int, int]
    deadline: float

    def ids_in_flight(self) -> set[str]:
        """Return the ids of needs in the topic that the actuator has not applied yet."""
        starts = dict(self.applied_offsets)
        return {str(event.output.id) for _, event in self._events(starts, self._ends())}

    def open_needs(self) -> dict[str, str]:
        """Return the id of each open need by key, after all records that the actuator applied."""
        newest = dict(self._events({}, self.applied_offsets))
        return {
            key: str(event.output.id)
            for key, event in newest.items()
            if event.output.status == "open"
        }

    def _ends(self) -> dict[int, int]:
        topic = output_topics(self.revision).reorder_events
        return kafka.end_offsets(self.settings.kafka_bootstrap, topic, self.settings.partitions)

    def _events(
        self, starts: dict[int, int], ends: dict[int, int]
    ) -> Iterator[tuple[str, ReorderEvent]]:
        bootstrap, partitions = self.settings.kafka_bootstrap, self.settings.partitions
        topic = output_topics(self.revision).reorder_events
        tail = kafka.Tail(bootstrap, topic, partitions, starts)
        for message in tail.read_until(ends, deadline=self.deadline):
            event = None if message.error() else _event(message, self.revision)
            if event is not None:
                yield event.at.inv_key, event


def needs_of(
    connection: psycopg.Connection, settings: Connections, positions: Positions, deadline: float
) -> Needs:
    """Return the needs that must have a proposal in the snapshot of the connection."""
    revision = deciding_revision(connection)
    topic = output_topics(revision).reorder_events
    applied_offsets = positions.of("actuator", topic, settings.partitions)
    log = DecisionLog(settings, revision, applied_offsets, deadline)
    others = None if revision == LOGIC_REVISION else log.open_needs()
    return Needs(log.ids_in_flight, others)


def _event(message: Any, revision: int) -> ReorderEvent | None:  # noqa: ANN401 -- the client has no types
    """Return the need of logic revision `revision`, or None if the actuator refuses the record."""
    if message.value() is None:
        return None
    try:
        event = decode_reorder(message.value())
    except UnreadableRecord:
        return None
    is_simulated = event.output.id.startswith(SIMULATED_PREFIX)
    return None if is_simulated or event.at.logic_revision != revision else event

"""The newest decision of a logic revision about each key, read from the revision's topics.

Like the actuator, this module refuses invalid records and simulated decisions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from analytics import kafka
from cdc.contracts.decisions import PriceEvent, ReorderEvent, decode_price, decode_reorder
from cdc.contracts.topics import output_topics
from cdc.contracts.versions import document_of
from cdc.settings import Connections
from streams.sinks.actionable import Refused, decision_in

PENDING: Final = ("open", "snoozed")
# Position, as-of time and logic revision of a decision are no part of its content.
_NOT_CONTENT: Final = ("position", "as_of_us", "logic_revision")

DecisionKey = tuple[str, str]  # kind of the topic ("reorder" or "price") and inv_key


@dataclass(slots=True)
class Decisions:
    """The newest decision about each key, and the next offset to read in each partition.

    A key is a pair of kind ("reorder" or "price") and inv_key. `refresh` reads on from the stored
    offsets. `refused` has the position of every refused record and the reason.
    """

    settings: Connections
    revision: int
    newest: dict[DecisionKey, dict[str, Any]] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    _content: dict[DecisionKey, bytes] = field(default_factory=dict)
    _tails: dict[str, kafka.Tail] = field(default_factory=dict)

    def refresh(self, deadline: float) -> None:
        """Read the topics of needs and of prices to their present ends.

        Raises:
            UnknownVersion: another version of the code wrote a record. The message has its
            position.
        """
        names = output_topics(self.revision)
        for kind, topic in (("reorder", names.reorder_events), ("price", names.price_events)):
            tail = self._tails.setdefault(
                topic,
                kafka.Tail(self.settings.kafka_bootstrap, topic, self.settings.partitions),
            )
            for message in tail.read(deadline=deadline):
                if message.error() is None:
                    self._take(kind, message)

    def _take(self, kind: str, message: Any) -> None:  # noqa: ANN401 -- the client has no types
        try:
            with kafka.with_position(message):
                decision_in(message.value(), self.revision, is_reorder=kind == "reorder")
        except Refused as reason:
            place = f"{message.topic()}[{message.partition()}]@{message.offset()}"
            self.refused.append(f"{place}: {reason}")
            return
        document = document_of(f"{kind}_event", message.value())
        name = kind, str(document["inv_key"])
        self.newest[name] = document
        self._content[name] = message.value()

    def next_offsets(self) -> dict[tuple[str, int], int]:
        """Return the next offset to read, by topic and partition."""
        return {
            (topic, number): tail.next_offsets.get(number, 0)
            for topic, tail in self._tails.items()
            for number in range(self.settings.partitions)
        }

    def pending(self) -> tuple[list[ReorderEvent], list[PriceEvent]]:
        """Return every need and every price proposal that is open or snoozed, sorted by key."""
        reorders: list[ReorderEvent] = []
        prices: list[PriceEvent] = []
        for (kind, key), document in sorted(self.newest.items(), key=lambda entry: entry[0]):
            if not is_pending(document):
                continue
            if kind == "reorder":
                reorders.append(decode_reorder(self._content[kind, key]))
            else:
                prices.append(decode_price(self._content[kind, key]))
        return reorders, prices


def is_pending(document: Mapping[str, Any] | None) -> bool:
    """Return True if the decision is open or snoozed, and so waits for an answer."""
    return document is not None and document["status"] in PENDING


def differing_fields(former: Mapping[str, Any], fresh: Mapping[str, Any]) -> list[str]:
    """Return the names of the fields in which two decisions differ, in alphabetical order.

    Position, as-of time and logic revision are not compared.
    """
    names = (former.keys() | fresh.keys()) - set(_NOT_CONTENT)
    return sorted(name for name in names if former.get(name) != fresh.get(name))

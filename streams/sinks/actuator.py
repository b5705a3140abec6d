"""`python -m streams.sinks.actuator`: a sink that writes the workers' decisions as proposals."""

from collections.abc import Sequence

import structlog

from cdc.contracts.decisions import PriceEvent, ReorderEvent
from cdc.contracts.topics import output_topics
from cdc.contracts.versions import UnknownVersion
from inventory.revision import LOGIC_REVISION
from streams.settings import SinkSettings
from streams.sinks.actionable import Refused, decision_in
from streams.sinks.active import active_or_first, hold_active
from streams.sinks.positions import Connection, write_positions
from streams.sinks.process import main
from streams.sinks.proposals import propose
from streams.sinks.source import SinkRecord

log = structlog.get_logger(__name__)


class Actuator:
    """The sink that fills `app.reorder_proposal` and `app.price_proposal`.

    It reads the decisions of the deciding logic revision (`streams.sinks.active`). Records that
    `decision_in` refuses are logged and skipped.
    """

    name = "actuator"
    # A deferred trigger locks the audit log's hash chain at the commit of a proposal (decision
    # 0043). People's actions wait for that lock, so a transaction has few records.
    most_records = 1_000

    def __init__(self) -> None:
        self._revision = LOGIC_REVISION

    def topics(self, connection: Connection) -> Sequence[str]:
        """Return the decision topics of the deciding revision.

        Log a warning if that revision has changed since the last call and is not the revision of
        this code.
        """
        decides = active_or_first(connection, LOGIC_REVISION)
        if decides not in (self._revision, LOGIC_REVISION):
            repair = f"inventory revision promote {LOGIC_REVISION} --without-comparison"
            log.warning(
                "another logic revision decides",
                decides=decides,
                code=LOGIC_REVISION,
                repair=repair,
            )
        self._revision = decides
        names = output_topics(self._revision)
        return names.reorder_events, names.price_events

    def write(self, connection: Connection, batch: Sequence[SinkRecord]) -> None:
        """Write the batch's proposals and the positions after it, in the caller's transaction.

        Raises:
            RevisionSwitched: the batch's logic revision no longer decides.
            UnknownVersion: another version of this code wrote a record.
        """
        reorders: list[ReorderEvent] = []
        prices: list[PriceEvent] = []
        for record in batch:
            event = _event_of(record, self._revision)
            match event:
                case ReorderEvent():
                    reorders.append(event)
                case PriceEvent():
                    prices.append(event)
                case None:
                    pass
        hold_active(connection, self._revision)
        propose(connection, reorders, prices)
        write_positions(connection, self.name, batch, {})


def _event_of(record: SinkRecord, revision: int) -> ReorderEvent | PriceEvent | None:
    """Return the decision in `record`, or None with a warning if `decision_in` refuses it.

    Raises:
        UnknownVersion: names the position of a record that another version of this code wrote.
    """
    is_reorder = record.topic == output_topics(revision).reorder_events
    try:
        return decision_in(record.value, revision, is_reorder=is_reorder)
    except UnknownVersion as unknown:
        raise unknown.at(record.topic, record.partition, record.offset) from unknown
    except Refused as refused:
        where = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
        log.warning("decision refused", reason=str(refused), **where)
        return None


def create(_settings: SinkSettings) -> Actuator:
    """Return the sink. It has no settings of its own."""
    return Actuator()


if __name__ == "__main__":
    main(create)

"""The check whether a record of `reorder.events` or `price.events` may cause an action."""

from cdc.contracts.decisions import PriceEvent, ReorderEvent, decode_price, decode_reorder
from cdc.contracts.versions import UnknownVersion, UnreadableRecord
from streams.sinks.proposals import is_simulated


class Refused(ValueError):
    """The record is no decision, or its decision is simulated or of another logic revision."""


def decision_in(
    content: bytes | None, revision: int, *, is_reorder: bool
) -> ReorderEvent | PriceEvent:
    """Return the decision in `content`, the value of a record.

    The decision must be of the logic revision `revision`. `is_reorder` is True for a need, and
    False for a price proposal.

    Raises:
        Refused: the record is a tombstone, unreadable, simulated or of another logic revision.
        UnknownVersion: another version of this code wrote the record in a format unknown here.
    """
    if content is None:
        reason = "tombstone"
        raise Refused(reason)
    try:
        event = decode_reorder(content) if is_reorder else decode_price(content)
    except UnknownVersion:
        raise
    except UnreadableRecord as unreadable:
        raise Refused(str(unreadable)) from unreadable
    if is_simulated(event):
        reason = "simulated"
        raise Refused(reason)
    if event.at.logic_revision != revision:
        reason = "another logic revision"
        raise Refused(reason)
    return event

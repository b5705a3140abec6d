"""The check for records of `reorder.events` and `price.events` that may be acted on."""

from cdc.contracts.decisions import PriceEvent, ReorderEvent, decode_price, decode_reorder
from cdc.contracts.versions import UnknownVersion, UnreadableRecord
from streams.sinks.proposals import is_simulated


class Refused(ValueError):
    """The record is no decision of the revision: no action may follow from it."""


def decision_in(
    content: bytes | None, revision: int, *, is_reorder: bool
) -> ReorderEvent | PriceEvent:
    """Return the decision of logic revision `revision` in the bytes of a record.

    Raises:
        Refused: the reason why this is no such decision.
        UnknownVersion: another version of this code wrote it, so this one must not judge it.
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
        reason = "logic revision"
        raise Refused(reason)
    return event

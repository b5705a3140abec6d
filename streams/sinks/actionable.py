"""The check of a record of `reorder.events` or `price.events` before anything acts on it."""

from cdc.contracts.decisions import PriceEvent, ReorderEvent, decode_price, decode_reorder
from cdc.contracts.versions import UnknownVersion, UnreadableRecord
from streams.sinks.proposals import is_simulated


class Refused(ValueError):
    """The record is no decision of the wanted logic revision, so nothing may act on it."""


def decision_in(
    content: bytes | None, revision: int, *, is_reorder: bool
) -> ReorderEvent | PriceEvent:
    """Return the decision in `content`, the bytes of a record, if it is of `revision`.

    Raises:
        Refused: it is a tombstone, unreadable, simulated or of another logic revision.
        UnknownVersion: another version of this code wrote it, so this one can't judge it.
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

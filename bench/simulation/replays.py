"""The outputs that a worker must send again after a replay, unchanged (docs/domain.md 4)."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bench.simulation.checks import violated
from cdc.contracts.decisions import decode_price, decode_reorder
from cdc.contracts.state import window_key
from cdc.contracts.topics import (
    ON_HAND_CHANGELOG,
    PRICE_EVENTS,
    REORDER_EVENTS,
    SALES_WINDOWS_CHANGELOG,
)
from inventory.model.ids import InvKey
from inventory.model.state import KeyState
from streams.engine.records import Send, SourceRecord
from streams.engine.store import OwnedPartition


class Owed(NamedTuple):
    """The outputs that one transaction must contain: keys of levels and rows, ids of decisions."""

    levels: set[bytes]
    rows: set[bytes]
    decisions: set[str]

    def check(self, sends: Sequence[Send]) -> None:
        """Check that the sends of a transaction contain all these outputs.

        Raises:
            Violation: a level, a row or a decision was not sent again.
        """
        levels = {send.key for send in sends if send.topic == ON_HAND_CHANGELOG}
        rows = {send.key for send in sends if send.topic == SALES_WINDOWS_CHANGELOG}
        decisions = {_decision_id(send) for send in sends}
        missing = [*(self.levels - levels), *(self.rows - rows), *(self.decisions - decisions)]
        if missing:
            violated("outputs of a skipped replay are sent again", missing)


def _decision_id(send: Send) -> str:
    if send.topic == REORDER_EVENTS:
        return decode_reorder(send.value).output.id
    return decode_price(send.value).output.id if send.topic == PRICE_EVENTS else ""


def owed_for_replay(chunk: Iterable[SourceRecord], owned: OwnedPartition) -> Owed:
    """Return the outputs to send again for the chunk's records below the restored offset.

    Call this before the chunk is folded.
    """
    again = min(owned.restored_offset, owned.next_offset)
    keys = {InvKey((s.key or b"").decode(errors="replace")) for s in chunk if s.offset < again}
    keys -= owned.sent_again
    states = [state for key in keys if (state := owned.partition.states.get(key)) is not None]
    rows = {window_key(state.key, start_us) for state in states for start_us in state.windows}
    return Owed({state.key.encode() for state in states}, rows, set(_decided(states, "")))


def owed_by_timer(owned: OwnedPartition) -> Owed:
    """Return the decisions that the timer must send again: all open ones of the partition."""
    return Owed(set(), set(), set(_decided(list(owned.published.values()), "open")))


def _decided(states: Sequence[KeyState], status: str) -> Iterable[str]:
    for state in states:
        for output in (state.episode.last_output, state.price_episode.last_output):
            if output is not None and status in ("", output.status):
                yield output.id

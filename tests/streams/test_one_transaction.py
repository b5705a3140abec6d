"""Late and rejected records share the transaction of the state that caused them (domain.md 4)."""

import asyncio
from collections.abc import Sequence

import pytest

from cdc.contracts.progress import progress_in
from cdc.contracts.rejects import decode_late, decode_rejection
from cdc.contracts.state import decode_level
from cdc.contracts.topics import ON_HAND_CHANGELOG, STOCK_LATE, STOCK_REJECTED
from streams.engine.loop import handle_chunk
from streams.engine.memory import MemoryBroker
from streams.engine.records import Positions, Send, Stage
from streams.engine.restore import restore
from tests.streams.lives import GENERATION, PARTITION, source_of
from tests.streams.test_engine import KEYS, Step, history

HOUR_US = 3_600_000_000
# Sales of now and of five days ago, a sale of 0 units, a wrong key, and bytes without an envelope.
PLAN: list[Step] = [
    ("sale", 0, 3, 0),
    ("sale", 1, 3, 0),
    ("old_sale", 0, 9, 30 * HOUR_US),
    ("zero", 0, 1, 0),
    ("sale", 0, 2, 0),
    ("wrong_key", 1, 1, 0),
    ("old_sale", 1, 9, 30 * HOUR_US),
    ("garbage", 2, 1, 0),
    ("zero", 2, 1, 0),
    ("old_sale", 0, 8, 0),
    ("sale", 2, 1, 0),
]


class Recorder:
    """The memory broker's writer, with the sends of every committed transaction."""

    def __init__(self, broker: MemoryBroker) -> None:
        self._writer = broker.writer(PARTITION)
        self.transactions: list[list[Send]] = []

    async def acknowledged(self, partition: int, stages: Sequence[Stage]) -> Positions:
        positions = await self._writer.acknowledged(partition, stages)
        self.transactions.append([send for stage in stages for send in stage])
        return positions


async def transactions_of(broker: MemoryBroker, size: int) -> list[list[Send]]:
    owned = await restore(PARTITION, GENERATION, broker)
    recorder, source = Recorder(broker), source_of(broker)
    for start in range(0, len(source), size):
        await handle_chunk(source[start : start + size], owned, recorder)
    return recorder.transactions


def levels(transaction: list[Send]) -> dict[str, int]:
    """Return key and offset of the states that a transaction commits."""
    found = [decode_level(s.value or b"")[0] for s in transaction if s.topic == ON_HAND_CHANGELOG]
    return {str(state.inv_key): state.position.offset for state in found}


def covered(transaction: list[Send]) -> int:
    """Return the next offset to fold according to the transaction's progress; 0 without one."""
    found = [progress_in(send.headers) for send in transaction]
    return max((progress.next_offset for progress in found if progress is not None), default=0)


@pytest.mark.domain("3.2 window *", "2.2 anything else")
@pytest.mark.parametrize("size", [1, 2, 3, 4, 11])
def test_late_and_rejected_records_share_the_transaction_of_their_state(size: int) -> None:
    committed = asyncio.run(transactions_of(history(PLAN), size))

    states: dict[str, int] = {}
    before, late, rejected = 0, 0, 0
    for transaction in committed:
        here = levels(transaction)
        for send in transaction:
            if send.topic == STOCK_LATE:
                found = decode_late(send.value or b"")
                at = found.origin.offset
                assert states.get(str(found.inv_key), -1) < at <= here[str(found.inv_key)]
                late += 1
            elif send.topic == STOCK_REJECTED:
                at = decode_rejection(send.value or b"").origin.offset
                # Progress of earlier transactions is at most this offset. If the chunk changed a
                # state, the progress of its own transaction is above this offset.
                assert before <= at
                assert not here or at < covered(transaction)
                rejected += 1
        states |= here
        before = max(before, covered(transaction))
    assert (late, rejected) == (3, 4)
    assert set(states) == set(KEYS)

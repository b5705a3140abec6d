"""The broker of a world: it shows what is committed, and what it loses for good halts workers.

Nobody can bring back what was cut off or made anew. So whoever needs it halts, for ever; whoever
does not goes on, and everything that it writes is the truth as before.
"""

from typing import Final

from typing_extensions import override

from bench.simulation.checks import Visible, broken
from bench.simulation.faults import HALVES, QUARTERS
from cdc.contracts.topics import STOCK_EVENTS
from streams.engine.memory import MemoryBroker, Transaction

_TWICE: Final = 2  # as many records as a topic made anew may have, in those of the one before


class WatchedBroker(MemoryBroker):
    """Shows each committed transaction to a reader who compares it with the truth.

    `has_lost` says whether anything is gone for good. Into partitions whose source was made anew
    behind what was folded of it nobody may write any more.
    """

    def __init__(self, visible: list[Visible]) -> None:
        super().__init__()
        self._visible = visible
        self._closed: set[int] = set()
        self.has_lost = False

    @override
    def commit(self, transaction: Transaction) -> None:
        super().commit(transaction)
        if transaction.partition in self._closed:
            broken("nothing is folded into the state of another source", transaction.sent)
        self._visible[transaction.partition].committed(transaction.sent)

    def lose(self, topic: str, quarters: int) -> None:
        """Cut so many quarters off the beginning of a topic's partitions."""
        for partition in range(len(self._visible)):
            first = self.next_offset((topic, partition)) * quarters // QUARTERS
            if first > 0:
                self.cut(topic, partition, first)
                self.has_lost = True

    def remake_source(self, halves: int) -> bool:
        """Make the source anew, with so many halves of its records in another order.

        A partition of which nothing was folded gets the same ones. Without any other nothing is
        done, and the answer is False.
        """
        folded = {visible.number for visible in self._visible if visible.progress}
        for partition in range(len(self._visible) if folded else 0):
            place = STOCK_EVENTS, partition
            records = self.topics[place]
            if partition in folded:
                records = (records[::-1] * _TWICE)[: len(records) * halves // HALVES]
            self.delete(*place)
            for record in records:
                self.produce(*place, record.key, record.value, at_ms=record.at_ms)
        self._closed |= folded
        self.has_lost = self.has_lost or bool(folded)
        return bool(folded)

"""The broker of a simulation: it checks committed records, and can lose records permanently.

Truncated or replaced records can't be restored. So a worker that needs them halts permanently. A
worker that doesn't need them continues, and everything that it writes is still correct.
"""

from typing import Final

from typing_extensions import override

from bench.simulation.checks import Visible, violated
from bench.simulation.faults import HALVES, QUARTERS
from cdc.contracts.topics import STOCK_EVENTS
from streams.engine.memory import MemoryBroker, Transaction

_TWICE: Final = 2  # a recreated topic may have up to twice as many records as the one before


class WatchedBroker(MemoryBroker):
    """A broker that passes each committed transaction to a checker.

    `has_lost` is True once records are permanently lost. If the source topic is recreated after
    records of a partition were folded, no worker may commit anything for this partition again.
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
            violated("nothing is folded into the state of another source", transaction.sent)
        self._visible[transaction.partition].committed(transaction.sent)

    def lose(self, topic: str, quarters: int) -> None:
        """Delete the first `quarters`/4 of each partition's records in `topic`."""
        for partition in range(len(self._visible)):
            first = self.next_offset((topic, partition)) * quarters // QUARTERS
            if first > 0:
                self.cut(topic, partition, first)
                self.has_lost = True

    def remake_source(self, halves: int) -> bool:
        """Recreate the source topic with other records; return False if nothing was folded yet.

        A partition with folded records gets all its records in reverse order, repeated or cut to
        `halves`/2 of their former number: with 3, ten records become 15. Any other partition gets
        the same records in the same order. If no partition has folded records, nothing happens.
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

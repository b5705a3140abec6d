"""One partition of the log during a fold: a state per key and the dedupe ring.

The worker, the recomputation, the tests and `inventory fold` all use this module. So they compute
the same states from the same log.
"""

from inventory.fold.record import FoldResult, Replayed, fold
from inventory.log.dedupe import Admission, Ring
from inventory.model.ids import InvKey
from inventory.model.record import Record
from inventory.model.state import KeyState

__all__ = ["FoldResult", "Partition"]


class Partition:
    """The states of all keys of one partition, with its dedupe ring.

    `generation` is the number of the source log. If all rows are captured again into empty topics,
    the number rises by one.
    """

    __slots__ = ("_newest_admitted_us", "generation", "ring", "states")

    def __init__(self, generation: int) -> None:
        self.generation = generation
        self.states: dict[InvKey, KeyState] = {}
        self.ring = Ring()
        self._newest_admitted_us: int | None = None

    @property
    def newest_commit_us(self) -> int | None:
        """Return the newest commit time of all records so far in µs, None before the first.

        Heartbeats count, and so do rejected records, except those rejected as malformed.
        """
        ring_us, admitted_us = self.ring.newest_commit_us, self._newest_admitted_us
        if ring_us is None or admitted_us is None:
            return admitted_us if ring_us is None else ring_us
        return max(ring_us, admitted_us)

    def apply(self, record: Record) -> FoldResult:
        """Fold the record into its key's state, and store the new state.

        The dedupe ring decides first whether the record is new. If the state of the key already
        includes the record's offset, the result is `Replayed`, and only the ring changes.

        Raises:
            BrokenInvariant: the ring has more than `MOST_MEMBERS` members.
        """
        return self._fold(record, self.ring.admit(record))

    def apply_admitted(self, record: Record, admission: Admission) -> FoldResult:
        """Fold a record from the archive. `admission` is the dedupe ring's verdict on the record.

        The archive stores this verdict with the record, so this method neither reads nor changes
        the ring of the partition. As in `apply`, a malformed record doesn't change the
        newest commit time (domain.md 11.2).
        """
        newest_us = self._newest_admitted_us
        if admission is not Admission.MALFORMED and (
            newest_us is None or record.commit_us > newest_us
        ):
            self._newest_admitted_us = record.commit_us
        return self._fold(record, admission)

    def _fold(self, record: Record, admission: Admission) -> FoldResult:
        key = InvKey(record.key)
        state = self.states.get(key)
        if state is not None and record.offset <= state.position.offset:
            return Replayed(state)
        folded = fold(state, record, admission, self.generation)
        if folded.state is not None and folded.state is not state:
            self.states[key] = folded.state
        return folded

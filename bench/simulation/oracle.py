"""The results of one uninterrupted pass over the log: no broker, no engine, no crash.

The results are stored for every position. So the simulation can check each record of a worker as
soon as the record becomes visible, and not only at the end.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bench.simulation.source import SentRecord
from cdc.contracts.decode import Malformed, decode
from cdc.contracts.progress import Beat
from cdc.contracts.rejects import Late, Origin, Rejection
from cdc.contracts.topics import STOCK_EVENTS
from inventory.fold.partition import FoldResult, Partition
from inventory.fold.record import Applied, Refused
from inventory.model.ids import InvKey
from inventory.model.outputs import Output
from inventory.model.record import Record
from inventory.model.state import KeyState, WindowRow
from inventory.revision import LOGIC_REVISION

GENERATION = 7

Mark = tuple[int | None, int | None, bool, int]


@dataclass(slots=True)
class Truth:
    """Partition `number` of the log, folded once.

    * `states` has each state by key and offset.
    * `marks[n]` describes the dedupe ring after n records. It has the newest commit time, the
      highest LSN, and whether Debezium's snapshot is over. Last, it has the offset from which a
      replay rebuilds the ring.
    * `rows` has every changed window row by key, start and offset.
    * `outputs` has decisions by id and offset. `keys` has the item of each decision id.
    * `beats`, `late` and `rejected` have heartbeats, late sales and rejected records by offset.
    """

    number: int = 0
    partition: Partition = field(default_factory=lambda: Partition(GENERATION))
    verdicts: list[str] = field(default_factory=list)
    states: dict[InvKey, dict[int, KeyState]] = field(default_factory=dict)
    marks: list[Mark] = field(default_factory=lambda: [(None, None, False, 0)])
    rows: dict[tuple[InvKey, int], dict[int, WindowRow]] = field(default_factory=dict)
    outputs: dict[str, dict[int, Output]] = field(default_factory=dict)
    keys: dict[str, InvKey] = field(default_factory=dict)
    late: dict[int, Late] = field(default_factory=dict)
    beats: dict[int, Beat] = field(default_factory=dict)
    rejected: dict[int, Rejection] = field(default_factory=dict)

    def take(self, sent: SentRecord) -> None:
        """Fold the next record."""
        offset = len(self.verdicts)
        try:
            record = decode(sent.key, sent.value, offset=offset)
        except Malformed as error:
            self._reject(sent, "malformed", "decode", error.detail, None)
            self.verdicts.append("rejected:malformed")
        else:
            folded = self.partition.apply(record)
            if isinstance(folded, Refused):
                self._reject(sent, folded.reason, "fold", folded.detail, record.commit_us)
            else:
                self._keep(offset, record, folded)
            self.verdicts.append(folded.verdict)
        ring = self.partition.ring
        marks = ring.newest_commit_us, ring.highest_lsn, ring.streamed
        self.marks.append((*marks, ring.replayed_from(offset + 1)))

    def _reject(
        self, sent: SentRecord, reason: str, stage: str, detail: str, commit_us: int | None
    ) -> None:
        offset = len(self.verdicts)
        self.rejected[offset] = Rejection(
            origin=Origin(GENERATION, self.number, offset),
            topic=STOCK_EVENTS,
            reason=reason,
            stage=stage,
            detail=detail,
            key=sent.key,
            value=sent.value,
            logic_revision=LOGIC_REVISION,
            commit_us=commit_us,
        )

    def _keep(self, offset: int, record: Record, folded: FoldResult) -> None:
        key, state = InvKey(record.key), folded.state
        if state is None:
            return
        self.states.setdefault(key, {})[offset] = state
        if record.table == "pipeline_heartbeat" and isinstance(record.after, dict):
            self.beats[offset] = Beat(record.after["beat"], record.commit_us)
        if isinstance(folded, Applied):
            self._keep_effects(offset, key, folded, record.commit_us)

    def _keep_effects(self, offset: int, key: InvKey, applied: Applied, commit_us: int) -> None:
        late = applied.late
        if late is not None:
            origin = Origin(GENERATION, self.number, offset)
            self.late[offset] = Late(
                origin, key, late.units, late.amount_minor, "window_expired", commit_us
            )
        for start_us in applied.windows_changed:
            self.rows.setdefault((key, start_us), {})[offset] = applied.state.windows[start_us]
        for output in applied.outputs:
            self.outputs.setdefault(output.id, {})[offset] = output
            self.keys[output.id] = key


def newest(history: Mapping[int, object], before: int) -> int:
    """Return the last offset in `history` that is less than `before`; -1 if there is none."""
    return max((at for at in history if at < before), default=-1)


def truth_of(sent: Iterable[SentRecord], partition: int) -> Truth:
    """Fold the records of one partition and return the results."""
    truth = Truth(partition)
    for record in sent:
        if record.partition == partition:
            truth.take(record)
    return truth

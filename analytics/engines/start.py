"""The state in which the fold of a unit starts: empty, or the state at the end of a base run."""

from analytics.engines.results import BEATS, HEARTBEATS, STATES, read_rows
from analytics.engines.unit import ArchiveUnit
from cdc.contracts.state import decode_state
from inventory.fold.partition import Partition

Beats = dict[bytes, tuple[int, bytes]]  # by key: offset and content of its newest heartbeat


def start_of(unit: ArchiveUnit) -> tuple[Partition, Beats]:
    """Return the partition (states, dedupe ring) and the heartbeats with which the unit starts.

    Both have the values just before the unit's first record. Without a base run both are empty.
    With a base run, the ring gets the newest commit time and the highest LSN of this unit in that
    run. The ring gets no identities of records, because the archive stores each record's dedupe
    verdict.

    Raises:
        DamagedResult: a file of the base is missing, or differs from what its unit wrote.
    """
    partition, base = Partition(unit.generation), unit.base
    if base is None:
        return partition, {}
    partition.ring.resume(
        newest_commit_us=base.newest_commit_us,
        highest_lsn=base.highest_lsn,
        streamed=base.streamed,
    )
    for kind in (STATES, HEARTBEATS):
        for _key, _offset, content in read_rows(base, kind):
            state = decode_state(content)
            partition.states[state.inv_key] = state
    return partition, {key: (offset, beat) for key, offset, beat in read_rows(base, BEATS)}

"""The state of one partition in this process: one dictionary for the fold, another for queries.

The fold changes `states` while it handles a chunk. Queries read `published`, which changes only
after the broker has acknowledged the chunk. Both dictionaries refer to the same immutable state
objects, and to the same states at rest (`streams.engine.cold`).
"""

import asyncio
from collections.abc import Iterable

from cdc.contracts.progress import Progress
from cdc.contracts.topics import STOCK_EVENTS
from inventory.fold.partition import Partition
from inventory.model.ids import InvKey
from inventory.model.state import KeyState
from streams.engine.cold import ColdStates, States
from streams.engine.undecodable import Undecodable


class OwnedPartition:
    """One partition of `stock.events` whose state is in this process.

    `next_offset` is the first offset of the source that the state doesn't include. An earlier
    process handled the records below `restored_offset`. If one of these records is read again, the
    worker sends the level, all window rows and the last decisions of its key again. `sent_again`
    has these keys until the first later record.

    `positions` maps each changelog to the offset after the last record that the state includes.
    `topic_ids` are the broker's ids of source and changelogs. A topic that is created again has
    another id. `changelog_next_offset` is the next source offset in the newest progress of the
    level changelog. It is less than `next_offset` after records that changed no key.
    """

    def __init__(
        self,
        number: int,
        partition: Partition,
        progress: Progress,
        cold: ColdStates | None = None,
        open_at_rest: Iterable[InvKey] = (),
    ) -> None:
        self.number = number
        self.partition = partition
        self.cold = ColdStates() if cold is None else cold
        in_use = dict(partition.states)
        self.states = partition.states = States(self.cold, in_use, keep_decoded=True)
        self.next_offset = progress.next_offset
        self.restored_offset = progress.next_offset
        self.published = States(self.cold, in_use, keep_decoded=False)
        self.published_offset = progress.next_offset
        self.as_of_us = progress.newest_commit_us
        self.changelog_end: int | None = None  # end offset of the level changelog at the restore
        self.sent_again: set[InvKey] = set()
        self.positions: dict[str, int] = {}
        self.topic_ids: dict[str, str] = {}
        self.changelog_next_offset = progress.next_offset
        # Keys that changed since the last `snapshot.freeze`, and keys that a freeze is moving to
        # rest. These are dictionaries, because a set's order differs between processes. Blocks with
        # equal states would then differ.
        self.unfrozen: dict[InvKey, None] = dict.fromkeys(in_use)
        self.freezing: dict[InvKey, None] = {}
        self.open_keys = set(open_at_rest)
        self.open_keys.difference_update(in_use)
        self.open_keys.update(key for key, state in in_use.items() if has_open(state))
        self.in_work = False  # True while a chunk has changed the state and is not acknowledged
        self.refused_in_a_row = 0
        self.undecodable = Undecodable(number)
        self.restored_records = 0  # changelog records read for this restore
        self.handled = 0  # records of the source handled since the restore, replayed ones included
        self.lock = asyncio.Lock()  # one chunk or republication at a time
        # The worker sets one lock for all partitions, so that only one partition folds at a time.
        self.fold_lock = asyncio.Lock()

    def progress(self) -> Progress:
        """Return the progress to write with the next chunk.

        It has the next source offset and what a restore needs to rebuild the dedupe ring.
        """
        ring = self.partition.ring
        return Progress(
            self.next_offset,
            ring.newest_commit_us,
            ring.highest_lsn,
            streamed=ring.streamed,
            source_topic_id=self.topic_ids.get(STOCK_EVENTS),
            ring_from=ring.replayed_from(self.next_offset),
        )

    def publish(self, keys: Iterable[InvKey]) -> None:
        """Make the acknowledged state of `keys` visible to queries."""
        states = self.partition.states
        for key in keys:
            state = states[key]
            self.published[key] = state
            self.unfrozen[key] = None
            if has_open(state):
                self.open_keys.add(key)
            else:
                self.open_keys.discard(key)
        self.published_offset = self.next_offset
        self.as_of_us = self.partition.newest_commit_us


def has_open(state: KeyState) -> bool:
    """Return True if the key has an open need or price proposal."""
    return state.episode.state == "open" or state.price_episode.id is not None

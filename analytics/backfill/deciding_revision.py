"""The deciding logic revision, and the offsets from which it decides.

Workers of several revisions may run side by side, but proposals come from the revision that
`app.revision_switch` names (decision 0013). A recomputation computes every decision of one
revision, also for times at which another revision decided. A decision that was closed at such
a time never became a proposal.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import psycopg

from analytics import kafka
from cdc.contracts.topics import STOCK_EVENTS
from cdc.settings import Connections
from inventory.revision import LOGIC_REVISION

OPEN_STATUSES: Final = frozenset({"open", "snoozed"})
_SWITCHES: Final = """
SELECT revision, reached, (extract(epoch FROM switched_at) * 1000000)::bigint
FROM app.revision_switch ORDER BY id
"""


@dataclass(frozen=True, slots=True)
class DecidingRevision:
    """The deciding revision and its first offset in each partition of `stock.events`.

    `since_us` is the time of the switch, in microseconds since 1970 UTC. By then the workers of
    both revisions had passed the offsets `since`. `since` is empty if the revision has decided
    since the first record.

    At the switch, the workers of the new revision may have passed further offsets. Example: `since`
    is 100, and they had passed offset 120. A need that opened at offset 105 and closed at 110 never
    became a proposal. So decisions of records committed by `since_us` may lack a proposal.
    """

    revision: int = LOGIC_REVISION
    since: Mapping[int, int] = field(default_factory=dict)
    since_us: int | None = None

    @property
    def decides_here(self) -> bool:
        """Return True if this code's revision decides."""
        return self.revision == LOGIC_REVISION

    def may_have_missed(self, status: str, partition: int, offset: int, commit_us: int) -> bool:
        """Return True if a decision of this code's revision may never have become a proposal.

        At a switch, every open or snoozed decision of the new revision becomes a proposal. A
        decision that was closed before the switch doesn't. While a revision doesn't decide, none of
        its decisions becomes a proposal.
        """
        if not self.decides_here:
            return True
        if self.since_us is None or status in OPEN_STATUSES:
            return False
        return offset < self.since.get(partition, 0) or commit_us <= self.since_us


def read_deciding_revision(
    connection: psycopg.Connection, settings: Connections
) -> DecidingRevision:
    """Return the deciding revision, and the offset of each partition from which it decides."""
    rows = connection.execute(_SWITCHES).fetchall()
    return deciding_after(rows, _began_us(settings) if len(rows) > 1 else 0)


def deciding_after(rows: list[tuple[int, dict[str, int], int]], began_us: int) -> DecidingRevision:
    """Return the deciding revision after all switches in `rows`, which are sorted oldest first.

    A row has the new revision, its first offset by partition, and the time of the switch.
    `began_us` is the time of the log's first record. If the last switch was earlier, its offsets
    belong to a former log and are left out.
    """
    if not rows:
        return DecidingRevision()
    revision, reached, switched_us = rows[-1]
    if switched_us < began_us or not reached:
        return DecidingRevision(revision)
    return DecidingRevision(
        revision, {int(number): at for number, at in reached.items()}, switched_us
    )


def _began_us(settings: Connections) -> int:
    """Return the write time of the log's oldest record, in µs since 1970 UTC; 0 if it is empty."""
    bootstrap, partitions = settings.kafka_bootstrap, settings.partitions
    starts = kafka.start_offsets(bootstrap, STOCK_EVENTS, partitions)
    ends = kafka.end_offsets(bootstrap, STOCK_EVENTS, partitions)
    firsts = {number: at + 1 for number, at in starts.items() if at < ends[number]}
    tail = kafka.Tail(bootstrap, STOCK_EVENTS, partitions, dict(starts))
    found = [m.timestamp()[1] for m in tail.read_until(firsts) if m.error() is None]
    return min(found, default=0) * 1000

"""The logic revision that decides, since which offsets, and what that makes of its decisions.

Workers of several revisions may run side by side, but proposals come from the one that
`app.revision_switch` names (decision 0013). A recomputation gives every decision of one revision,
also those that it made while another one decided and that nobody acted on.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import psycopg

from analytics import kafka
from cdc.contracts.topics import STOCK_EVENTS
from cdc.settings import Connections
from inventory.revision import LOGIC_REVISION

STANDING: Final = frozenset({"open", "snoozed"})
_SWITCHES: Final = """
SELECT revision, reached, (extract(epoch FROM switched_at) * 1000000)::bigint
FROM app.revision_switch ORDER BY id
"""


@dataclass(frozen=True, slots=True)
class Reign:
    """`revision` decides from `since` on, by partition of `stock.events`.

    Both revisions had passed `since` when the switch was made at `since_us`. The new one may have
    been further by then, so a decision of a record from behind `since` that was committed before
    `since_us` may have been open and closed again without reaching a desk. A revision that has
    decided from the first record on has no `since`.
    """

    revision: int = LOGIC_REVISION
    since: Mapping[int, int] = field(default_factory=dict)
    since_us: int | None = None

    @property
    def is_ours(self) -> bool:
        """Whether this code's revision decides."""
        return self.revision == LOGIC_REVISION

    def may_have_missed(self, status: str, partition: int, offset: int, commit_us: int) -> bool:
        """Return whether a decision of this code's revision may have reached no desk.

        At a switch every standing decision of the new revision becomes a proposal, a closed one
        doesn't. What a revision decides while another one does reaches nobody.
        """
        if not self.is_ours:
            return True
        if self.since_us is None or status in STANDING:
            return False
        return offset < self.since.get(partition, 0) or commit_us <= self.since_us


def read_reign(connection: psycopg.Connection, settings: Connections) -> Reign:
    """Return who decides, and since when in the log that is there now."""
    rows = connection.execute(_SWITCHES).fetchall()
    return reign_of(rows, _began_us(settings) if len(rows) > 1 else 0)


def reign_of(rows: list[tuple[int, dict[str, int], int]], began_us: int) -> Reign:
    """Return the reign after these switches; offsets from before `began_us` are of a former log."""
    if not rows:
        return Reign()
    revision, reached, switched_us = rows[-1]
    if switched_us < began_us or not reached:
        return Reign(revision)
    return Reign(revision, {int(number): at for number, at in reached.items()}, switched_us)


def _began_us(settings: Connections) -> int:
    """When the oldest record of the log was written, in microseconds since 1970 UTC."""
    bootstrap, partitions = settings.kafka_bootstrap, settings.partitions
    starts = kafka.start_offsets(bootstrap, STOCK_EVENTS, partitions)
    ends = kafka.end_offsets(bootstrap, STOCK_EVENTS, partitions)
    firsts = {number: at + 1 for number, at in starts.items() if at < ends[number]}
    tail = kafka.Tail(bootstrap, STOCK_EVENTS, partitions, dict(starts))
    found = [m.timestamp()[1] for m in tail.read_until(firsts) if m.error() is None]
    return min(found, default=0) * 1000

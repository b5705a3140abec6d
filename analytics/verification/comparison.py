"""One comparison of all keys, or of given keys, at one cut (docs/decisions/0023).

One database snapshot gives the read model, the facts and the projector's offsets. The changelogs
are read to exactly these offsets. If a fact differs between snapshot and cut, the sums over the
facts use the fact as it is at the cut (`in_flight`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import psycopg

from analytics import kafka
from analytics.verification import late, sums, window_sums
from analytics.verification.barrier import Barrier
from analytics.verification.changelogs import Changelogs, deadline_in
from analytics.verification.cut import Positions, read_positions
from analytics.verification.deciding import needs_of
from analytics.verification.differences import (
    Found,
    compare_levels,
    compare_windows,
    instead_parameters,
    wanted_keys,
)
from analytics.verification.in_flight import Moved, Row, Start, rows_in_flight, take_start
from analytics.verification.rejections import Rejections, read_rejections
from analytics.verification.reorders import Reorders, check_reorders
from analytics.verification.snapshot import Snapshot, current_snapshot
from cdc.contracts.rejects import decode_late, decode_rejection
from cdc.contracts.topics import (
    ON_HAND_CHANGELOG,
    SALES_WINDOWS_CHANGELOG,
    STOCK_LATE,
    STOCK_REJECTED,
)

_PROJECTOR: Final = "projector"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Result of comparing workers and read model with the sums over the facts, all at one cut."""

    as_of_us: int
    found: Found
    totals: dict[str, int]
    rejections: Rejections
    reorders: Reorders

    @property
    def differing_keys(self) -> list[str]:
        """Return the keys with any difference, sorted."""
        return sorted(
            {*self.found.differing_keys, *(entry["key"] for entry in self.reorders.missing)}
        )

    @property
    def uncertain(self) -> list[str]:
        """Return the keys with a difference that a later comparison may resolve, sorted."""
        certain = self.found.certain
        keys = {key for key in self.found.keys if key not in certain}
        keys |= {window_key[0] for window_key in self.found.windows if window_key not in certain}
        return sorted(keys | {entry["key"] for entry in self.reorders.missing})


@dataclass(slots=True)
class Comparer:
    """A comparer that keeps the changelog records it has read, so that it reads each only once."""

    connection: psycopg.Connection
    barrier: Barrier
    location: str | None
    live: Changelogs

    def compare(self, only: list[str] | None = None) -> Comparison:
        """Return the comparison of all keys of the location, or only of those in `only`.

        Raises:
            NotCaughtUp: the pipeline did not reach the moment of this call in time.
        """
        start = take_start(self.connection, self.barrier.settings)
        if not self.live.levels:
            # Read most records before the wait, while no snapshot is held.
            before = read_positions(self.connection)
            self.live.read_levels(self._shown(before, ON_HAND_CHANGELOG), deadline_in())
            self.live.read_windows(self._shown(before, SALES_WINDOWS_CHANGELOG), deadline_in())
        self.barrier.wait_until(start.snapshot.at_us)
        with self.connection.transaction():
            self.connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            return self._compared(start, current_snapshot(self.connection), only)

    def _compared(self, start: Start, snapshot: Snapshot, only: list[str] | None) -> Comparison:
        positions = read_positions(self.connection)
        self.live.read_levels(self._shown(positions, ON_HAND_CHANGELOG), deadline_in())
        instead = self.live.windows_at_cut(
            self._shown(positions, SALES_WINDOWS_CHANGELOG),
            self._ends(SALES_WINDOWS_CHANGELOG),
            deadline_in(),
        )
        moved = rows_in_flight(
            self.barrier.settings, start, snapshot, self.live.cut(), self.barrier.remaining_s
        )
        rejections = self._rejections(positions, moved)
        uncounted = self._late(positions)
        parameters: dict[str, Any] = {"location": self.location, "only": only}
        parameters |= rejections.parameters(moved) | late.parameters(uncounted)
        parameters |= instead_parameters(instead)
        found = Found()
        compare_levels(self.connection, self.live, parameters, found)
        compare_windows(self.connection, self.live, parameters, found)
        reorders = self._reorders(parameters, positions)
        totals = self._totals(parameters, found, moved, uncounted) if only is None else {}
        return Comparison(snapshot.at_us, found, totals, rejections, reorders)

    def _reorders(self, parameters: dict[str, Any], positions: Positions) -> Reorders:
        needs = needs_of(self.connection, self.barrier.settings, positions, deadline_in())
        states = [self.live.levels[key] for key in wanted_keys(self.live, parameters)]
        return check_reorders(self.connection, states, self.location, needs, parameters["only"])

    def _rejections(self, positions: Positions, moved: Mapping[Row, Moved]) -> Rejections:
        more = [decode_rejection(content) for content in self._behind(positions, STOCK_REJECTED)]
        return read_rejections(self.connection, self.location, self.live.cut(), moved, more)

    def _late(self, positions: Positions) -> list[late.Contribution]:
        more = [decode_late(content) for content in self._behind(positions, STOCK_LATE)]
        cut, settings = self.live.cut(), self.barrier.settings
        return late.late_contributions(self.connection, settings, self.location, cut, more)

    def _behind(self, positions: Positions, topic: str) -> list[bytes]:
        """Return the values of the topic's records that the projector has not applied yet."""
        settings = self.barrier.settings
        starts = self._shown(positions, topic)
        tail = kafka.Tail(settings.kafka_bootstrap, topic, settings.partitions, starts)
        messages = tail.read_until(self._ends(topic), deadline=deadline_in())
        return [m.value() for m in messages if m.error() is None and m.value() is not None]

    def _totals(
        self,
        parameters: dict[str, Any],
        found: Found,
        moved: Mapping[Row, Moved],
        uncounted: list[late.Contribution],
    ) -> dict[str, int]:
        windows = self.connection.execute(window_sums.WINDOW_TOTALS, parameters).fetchone()
        committed = self.connection.execute(sums.COMMITTED, parameters).fetchone()
        if windows is None or committed is None:
            problem = "a query for totals gave no row"
            raise RuntimeError(problem)
        states = [self.live.levels[key] for key in wanted_keys(self.live, parameters)]
        return {
            "keys_compared": found.keys_compared,
            "windows_compared": windows[0],
            "rows_in_flight": len(moved),
            "sale_lines_committed": committed[0] + lines_moved(moved, self.location),
            "sale_lines_counted": windows[2],
            "net_units_sold": windows[3] + sum(one.sold - one.returned for one in uncounted),
            "revenue_minor": windows[4] + sum(one.revenue for one in uncounted),
            "units_on_hand_total": sum(state.on_hand_units for state in states),
            "sale_lines_late": sum(one.sale_lines + one.return_lines for one in uncounted),
        }

    def _shown(self, positions: Positions, topic: str) -> dict[int, int]:
        return positions.of(_PROJECTOR, topic, self.barrier.settings.partitions)

    def _ends(self, topic: str) -> dict[int, int]:
        settings = self.barrier.settings
        return kafka.end_offsets(settings.kafka_bootstrap, topic, settings.partitions)


def lines_moved(moved: Mapping[Row, Moved], location: str | None) -> int:
    """Return the location's number of sale lines at the cut minus its number in the snapshot."""
    count = 0
    for (table, _), one in moved.items():
        if table == "sale_line":
            for image, sign in ((one.at_cut, 1), (one.in_snapshot, -1)):
                if image is not None and location in (None, image["location"]):
                    count += sign
    return count

"""The count rule (2.4) over all facts that a key ever had."""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.oracle.arithmetic import day

Seconds = list[int]


class Movement(NamedTuple):
    """A signed movement. `beyond`: it is at or before the last count before the horizon."""

    at: int
    units: int
    beyond: bool


class Count(NamedTuple):
    """An approved count. Counts are ordered by time, then by id."""

    at: int
    id: int
    units: int
    kind: str


@dataclass
class Ledger:
    """Movements and live approved counts of a key."""

    movements: list[Movement] = field(default_factory=list)
    counts: list[Count] = field(default_factory=list)

    def copy(self) -> "Ledger":
        return Ledger(list(self.movements), list(self.counts))

    def remove_count(self, count_id: int, since: int) -> None:
        """Remove the count with this id, unless it is before `since`, the start of the horizon."""
        self.counts = [c for c in self.counts if c.id != count_id or c.at < since]

    def last_count_before(self, limit: int) -> Count | None:
        """Return the count with the greatest (time, id) strictly before a time."""
        return max((c for c in self.counts if c.at < limit), default=None)

    def sum_movements(self) -> int:
        return sum(m.units for m in self.movements)

    def on_hand(self) -> int:
        last = max(self.counts, default=None)
        if last is None:
            return self.sum_movements()
        return last.units + sum(m.units for m in self.movements if m.at > last.at)

    def variances(self) -> list[tuple[Count, int]]:
        """Return each approved count with its variance, ordered by time, then by id."""
        result = []
        previous: Count | None = None
        for count in sorted(self.counts):
            since = [
                m.units
                for m in self.movements
                if m.at <= count.at and (previous is None or m.at > previous.at) and not m.beyond
            ]
            expected = (previous.units if previous else 0) + sum(since)
            result.append((count, count.units - expected))
            previous = count
        return result

    def sum_variances(self) -> int:
        beyond = sum(m.units for m in self.movements if m.beyond)
        return sum(v for _, v in self.variances()) - beyond

    def shrink(self) -> int:
        """Return the `beyond` movements minus the variances of all but opening counts (11.4)."""
        beyond = sum(m.units for m in self.movements if m.beyond)
        return beyond - sum(v for count, v in self.variances() if count.kind != "opening")


class Sums:
    """On-hand by all facts strictly before a time, prepared for queries at many times."""

    def __init__(self, ledger: Ledger) -> None:
        moves = sorted((m.at, m.units) for m in ledger.movements)
        self.times: Seconds = [at for at, _ in moves]
        self.totals = [0]
        for _, units in moves:
            self.totals.append(self.totals[-1] + units)
        self.counts = sorted(ledger.counts)
        self.count_times: Seconds = [c.at for c in self.counts]
        self.days = {day(at) for at in self.times + self.count_times}

    def on_hand_before(self, limit: int) -> int | None:
        """Return on-hand; None if no count is before the time."""
        place = bisect_left(self.count_times, limit)
        if place == 0:
            return None
        last = self.counts[place - 1]
        after = self.totals[bisect_left(self.times, limit)]
        return last.units + after - self.totals[bisect_right(self.times, last.at)]

"""`backfill diff`: compare the decisions of two finished runs, without Kafka or a running stack."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Generic

from typing_extensions import TypeVar

from analytics.backfill.diff.compared_runs import KEPT, ComparedRuns, NotComparable, compared_runs
from analytics.backfill.diff.difference import (
    DECISIVE,
    EXPLANATION,
    amount_of,
    difference,
    units_of,
)
from analytics.backfill.diff.pairing import A, B, Course, Pair
from analytics.backfill.diff.revised import KINDS
from analytics.backfill.diff.scratch import ALL, COUNTS, SUMS, Scratch
from analytics.backfill.diff.sides import Sides
from analytics.backfill.diff.stream import pairs_of, partitions_of
from analytics.backfill.run import runs_dir
from analytics.damage import Damage
from cdc.contracts.versions import UnreadableRecord
from cdc.settings import Connections

Progress = Callable[[int, int], None]  # partitions done, partitions in all
Compared = TypeVar("Compared", bound=Sides)
Compared_co = TypeVar("Compared_co", bound=Sides, default=ComparedRuns, covariant=True)
_NAMES: Final = {kind: f"{kind}s" for kind in KINDS}  # names of the report's sections
_GROUP: Final = ("kind", "dimension", "value")


def no_progress(_done: int, _planned: int) -> None:
    """Do nothing: the default `progress` of callers that print none."""


@dataclass(slots=True)
class RunTotals:
    """Number, units and money of the needs (proposed reorders) or price proposals of one run."""

    count: int = 0
    units: int = 0
    minor: int = 0

    def add(self, course: Course) -> None:
        """Add one need or price proposal to the count, the units and the money."""
        self.count += 1
        self.units += units_of(course)
        self.minor += amount_of(course)


@dataclass(slots=True)
class KindTotals:
    """Totals of one kind of decision: needs (proposed reorders), or price proposals.

    `sides` has the totals of each run, `equal` the number of pairs without a difference.
    """

    sides: tuple[RunTotals, RunTotals] = field(default_factory=lambda: (RunTotals(), RunTotals()))
    equal: int = 0

    def add(self, pair: Pair, *, is_equal: bool) -> None:
        """Add the needs or price proposals of one pair to the totals."""
        self.equal += is_equal
        for side, course in zip(self.sides, pair.courses, strict=True):
            if course is not None:
                side.add(course)


@dataclass(frozen=True, slots=True)
class Diff(Generic[Compared_co]):
    """Result of a comparison: totals for each kind of decision, and groups of differences.

    `scratch` is a temporary file with every difference. The caller closes it.
    """

    runs: Compared_co
    scratch: Scratch
    totals: dict[str, KindTotals]
    digest: str
    groups: tuple[dict[str, Any], ...]

    @property
    def is_equal(self) -> bool:
        """Return True if decisions and explanations are equal."""
        return not self.groups

    @property
    def exit_code(self) -> int:
        """Return 0 if equal, else 1."""
        return 0 if self.is_equal else 1

    def sums(self, kind: str) -> dict[str, Any]:
        """Return the counts and sums of all differences of one kind, by column name.

        All values are 0 if nothing differs.
        """
        found = (row for row in self.groups if (row["kind"], row["dimension"]) == (kind, ALL))
        return next(found, dict.fromkeys((*COUNTS, *SUMS), 0))

    def count(self, kind: str) -> int:
        """Return the number of differences of one kind."""
        return int(self.sums(kind)["differing"])

    def as_json(self) -> dict[str, Any]:
        """Return runs, totals and digest as a JSON object. The caller adds rows and groups."""
        sums = [self.sums(kind) for kind in KINDS]
        return {
            "a": self.runs.a.as_json(),
            "b": self.runs.b.as_json(),
            "history": self.runs.history(),
            "equal": self.is_equal,
            "digest": self.digest,
            "decisions_differing": sum(found[how] for found in sums for how in DECISIVE),
            "explanations_differing": sum(found[EXPLANATION] for found in sums),
            **{_NAMES[kind]: self._kind_json(kind) for kind in KINDS},
        }

    def _kind_json(self, kind: str) -> dict[str, Any]:
        totals, sums = self.totals[kind], self.sums(kind)
        found = {name: cell for name, cell in sums.items() if name not in _GROUP}
        sides = {
            name: {"count": side.count, "units": side.units, "minor": side.minor}
            for name, side in zip("ab", totals.sides, strict=True)
        }
        return {**sides, "equal": totals.equal, **found}


def compare(
    settings: Connections, a: str, b: str, scratch: Scratch, progress: Progress = no_progress
) -> Diff:
    """Compare the decisions of runs `a` and `b`. Return the totals and groups of differences.

    Raises:
        NotComparable: the message names the run, the problem and the next step.
    """
    runs = compared_runs(runs_dir(settings), a, b)
    by_partition = partial(checked_pairs, runs)
    return counted(runs, partitions_of(runs), by_partition, scratch, progress)


def counted(
    sides: Compared,
    numbers: Sequence[int],
    pairs: Callable[[int], Iterable[Pair]],
    scratch: Scratch,
    progress: Progress = no_progress,
) -> Diff[Compared]:
    """Compare two runs, or the live state and a run. Return totals and groups of differences.

    The comparison covers the partitions `numbers`. `pairs` yields the pairs of a partition. A pair
    has a need or price proposal of side A, of side B, or of both. Each difference is stored in
    `scratch`.
    """
    totals = {kind: KindTotals() for kind in KINDS}
    for done, number in enumerate(numbers, 1):
        for pair in pairs(number):
            _count(pair, number, totals, scratch)
        progress(done, len(numbers))
    return Diff(sides, scratch, totals, scratch.digest(sides.history()), tuple(scratch.groups()))


def checked_pairs(runs: ComparedRuns, partition: int, key: bytes | None = None) -> Iterator[Pair]:
    """Yield the pairs of one partition, or of one of its keys.

    Raises:
        NotComparable: a file has changed since its check, or this release can't read a decision.
    """
    try:
        yield from pairs_of(runs, partition, key)
    except Damage as error:
        raise NotComparable(error.problem, KEPT, error.step) from error
    except UnreadableRecord as error:
        problem = f"a decision of {runs.a.plan.run} or {runs.b.plan.run}: {error}"
        step = "use a release that can read the decisions of both runs"
        raise NotComparable(problem, KEPT, step) from error


def _count(pair: Pair, partition: int, totals: dict[str, KindTotals], scratch: Scratch) -> None:
    found = difference(pair, partition)
    known = pair.courses[A] or pair.courses[B]
    if known is not None:
        totals[known.first.kind].add(pair, is_equal=found is None)
    if found is not None:
        scratch.add(found)

"""The first record at which two runs decide differently about a key, with both explanations."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from analytics.backfill.diff.compared_runs import KEPT, ComparedRun, ComparedRuns, NotComparable
from analytics.backfill.diff.comparison import checked_pairs
from analytics.backfill.diff.difference import Difference, difference
from analytics.backfill.diff.explained import AtRecord, Explained, explained, explained_in
from analytics.backfill.diff.pairing import A, B, Pair
from analytics.backfill.diff.revised import Revised
from analytics.backfill.diff.side_by_side import Compared, compared_lines, decision_section
from analytics.damage import Damage
from analytics.engines.code import code_hash
from cdc.contracts.partition import partition_of
from cdc.settings import Connections
from inventory.explain.lines import Section

_RECORD: Final = ("table", "op", "row_id", "commit_us", "verdict")
_LINE: Final = ("section", "label", "a", "b")


@dataclass(frozen=True, slots=True)
class Trees:
    """Source trees with the rules of the runs, and the Python that executes them."""

    paths: tuple[Path, ...] = ()
    python: str = sys.executable


@dataclass(frozen=True, slots=True)
class SideAtRecord:
    """One run's (or the live state's) decisions and explanation at the record of a `Divergence`.

    `problem` is the reason why there is no explanation, or "".
    """

    decisions: tuple[Revised, ...]
    found: Explained | None
    problem: str

    def sections(self) -> tuple[Section, ...]:
        """Return the side's decisions as a section, then the sections that explain the state."""
        known = () if self.found is None else self.found.sections
        return (decision_section(self.decisions, with_terms=self.found is None), *known)


@dataclass(frozen=True, slots=True)
class Divergence:
    """Every difference of one key between two runs, and both explanations at one record.

    One of the two may be the live state instead of a run. `offset` is the offset of the record, and
    `about` describes the record.
    """

    key: str
    partition: int
    offset: int
    a: SideAtRecord
    b: SideAtRecord
    differences: tuple[Difference, ...]
    about: str = "first differing record"

    def record(self) -> Explained | None:
        """Return A's explanation, else B's, else None. Each has the fields of the record, too."""
        return self.a.found or self.b.found

    def lines(self) -> Iterator[Compared]:
        """Yield the lines of both explanations side by side."""
        return compared_lines(self.a.sections(), self.b.sections())

    def as_json(self) -> dict[str, Any]:
        """Return record, lines and differences as a JSON object."""
        record = self.record()
        found = None if record is None else {n: getattr(record, n) for n in _RECORD}
        return {
            "key": self.key,
            "partition": self.partition,
            "offset": self.offset,
            "about": self.about,
            "record": found,
            "problems": [side.problem for side in (self.a, self.b) if side.problem],
            "lines": [dict(zip(_LINE, line, strict=True)) for line in self.lines()],
            "differences": [one.row | {"kind": one.kind} for one in self.differences],
        }


def divergence(
    settings: Connections, runs: ComparedRuns, key: str, trees: Trees
) -> Divergence | None:
    """Return both explanations at the first record at which the runs differ about `key`.

    Return None if they never differ.

    Raises:
        NotComparable: neither run decided about the key, or the archive is damaged.
    """
    number = partition_of(key.encode(), len(runs.a.plan.ends))
    if not (found := _differing(runs, number, key)):
        return None
    differences = tuple(one for _, one in found)
    offset = first_offset(differences)
    first = [pair for pair, one in found if one.row["first_offset"] == offset]
    at = AtRecord(Path(), settings.archive_location, key, number, offset)
    a, b = (
        SideAtRecord(tuple(_decisions(first, side)), *explained_by(run, at, trees))
        for side, run in ((A, runs.a), (B, runs.b))
    )
    return Divergence(key, number, offset, a, b, differences)


def _differing(runs: ComparedRuns, number: int, key: str) -> list[tuple[Pair, Difference]]:
    pairs = list(checked_pairs(runs, number, key.encode()))
    if not pairs:
        problem = f"{key!r}: neither run decided about this key"
        raise NotComparable(problem, KEPT, "the same command without --key lists differing keys")
    return [(pair, one) for pair in pairs if (one := difference(pair, number)) is not None]


def first_offset(found: Sequence[Difference]) -> int:
    """Return the first offset at which decisions differ.

    If only explanations differ, return the first offset at which these differ.
    """
    decisive = [one for one in found if one.is_decisive]
    return min(int(str(one.row["first_offset"])) for one in decisive or found)


def _decisions(pairs: Sequence[Pair], side: int) -> Iterator[Revised]:
    for pair in pairs:
        revised = pair.at_first[side]
        if revised is not None:
            yield revised


def explained_by(run: ComparedRun, at: AtRecord, trees: Trees) -> tuple[Explained | None, str]:
    """Return the explanation by the rules of the run, or None and the reason why there is none.

    Raises:
        NotComparable: the archive or the run is damaged.
    """
    at = replace(at, run=run.directory)
    if run.plan.code == code_hash():
        try:
            return explained(at), ""
        except Damage as error:
            raise NotComparable(error.problem, KEPT, error.step) from error
    problems = []
    for tree in trees.paths:
        found = explained_in(tree, trees.python, at)
        if isinstance(found, str):
            problems.append(found)
        elif found.code == run.plan.code:
            return found, ""
    known = "; ".join((f"no tree here has the rules {run.plan.code} of {run.plan.run}", *problems))
    return None, f"{known}; name the run's source tree with --code to see its explanation"

"""Pairs of needs (proposed reorders), one of each run, for the same shortage of a key. No I/O.

Decision 0032: a need's id names the record that opened it, so other rules give other ids. A need of
run A and one of run B form a pair if both are open at the same record. A need is in one pair at
most, with the earliest-opened need of the other run. Example: [10, 90) is a need that is open from
offset 10 until offset 90. A has [10, 90); B has [12, 30) and [40, 95). [10, 90) and [12, 30) form a
pair, and [40, 95) is only in B. The same holds for price proposals.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from analytics.backfill.diff.revised import OPEN, Revised
from analytics.digest import add

A, B = 0, 1
_SIDES: Final = (A, B)


class Course:
    """One need (proposed reorder) or price proposal of one run, with its first and newest revision.

    `shown` is the last revision that was open. Comparisons use its numbers.
    """

    __slots__ = ("first", "hash", "newest", "revisions", "shown")

    def __init__(self, revised: Revised) -> None:
        self.first = self.newest = self.shown = revised
        self.revisions = 1
        self.hash = revised.hash

    def extend(self, revised: Revised) -> None:
        """Add the next revision."""
        self.newest = revised
        self.revisions += 1
        self.hash = add(self.hash, revised.hash)
        if revised.status == OPEN:
            self.shown = revised

    @property
    def closed_offset(self) -> int | None:
        """Return the offset of the record that closed the need or proposal; None if none did."""
        return self.newest.offset if self.newest.is_closed else None


@dataclass(slots=True, eq=False)
class Pair:
    """A need or price proposal of run A, and the one of run B that was open at the same record.

    If a run has no such need or proposal, its entry in `courses` is None.

    `decided_offset` is the first record at which the decisions differ. `explained_offset` is the
    first at which equal decisions have different explanations. `at_first` holds both runs'
    revisions at `decided_offset`, or at `explained_offset` if all decisions are equal.
    """

    courses: list[Course | None] = field(default_factory=lambda: [None, None])
    decided_offset: int | None = None
    explained_offset: int | None = None
    at_first: tuple[Revised | None, Revised | None] = (None, None)

    def compare(self, offset: int, ours: Revised | None, theirs: Revised | None) -> None:
        """Compare both runs' revisions at one record. Keep the first offset with a difference."""
        if ours is None or theirs is None or ours.decision != theirs.decision:
            if self.decided_offset is None:
                self.decided_offset, self.at_first = offset, (ours, theirs)
        elif ours.explanation != theirs.explanation and self.explained_offset is None:
            self.explained_offset = offset
            if self.decided_offset is None:
                self.at_first = (ours, theirs)


class KeyPairs:
    """The open pairs of one key and one kind of decision: needs or price proposals."""

    __slots__ = ("_open",)

    def __init__(self) -> None:
        self._open: list[Pair | None] = [None, None]

    @property
    def is_empty(self) -> bool:
        """Return True if neither run has an open need or price proposal of this key and kind."""
        return self._open[0] is None and self._open[1] is None

    def take(self, offset: int, revised: Sequence[Revised | None]) -> Iterator[Pair]:
        """Apply A's and B's revisions at one record. Yield each pair that this record closes."""
        given = [(side, found) for side, found in enumerate(revised) if found is not None]
        touched = [pair for side, _ in given if (pair := self._open[side]) is not None]
        fresh = [entry for entry in given if not self._extended(*entry)]
        # Closings come first: a need that closes here isn't open together with one that opens here.
        self._drop_closed()
        touched += [self._opened(*entry) for entry in fresh]
        self._drop_closed()
        for pair in _once(touched):
            pair.compare(offset, _of(pair, A, revised[A]), _of(pair, B, revised[B]))
            if self._is_done(pair):
                yield pair

    def rest(self) -> Iterator[Pair]:
        """Yield the pairs with a need or proposal that is still open at the end of the log."""
        yield from _once([pair for pair in self._open if pair is not None])

    def _extended(self, side: int, found: Revised) -> bool:
        pair = self._open[side]
        course = None if pair is None else pair.courses[side]
        if course is None or course.first.id != found.id:
            return False
        course.extend(found)
        return True

    def _opened(self, side: int, found: Revised) -> Pair:
        other = self._open[1 - side]
        pair = other if other is not None and other.courses[side] is None else Pair()
        pair.courses[side] = Course(found)
        self._open[side] = pair
        return pair

    def _drop_closed(self) -> None:
        for side in _SIDES:
            pair = self._open[side]
            course = None if pair is None else pair.courses[side]
            if course is not None and course.newest.is_closed:
                self._open[side] = None

    def _is_done(self, pair: Pair) -> bool:
        return not any(pair is other for other in self._open)


def _once(pairs: Sequence[Pair]) -> list[Pair]:
    return list({id(pair): pair for pair in pairs}.values())


def _of(pair: Pair, side: int, revised: Revised | None) -> Revised | None:
    """Return `revised` if it is a revision of the pair's `courses[side]`, else None."""
    course = pair.courses[side]
    is_its = course is not None and revised is not None and course.first.id == revised.id
    return revised if is_its else None

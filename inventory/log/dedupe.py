"""Recognition of records that the connector sends again (domain.md 4).

The ring depends on the log alone. It holds the identities of the partition's records whose commit
time lies within 120 s of the newest commit time so far. It forgets nothing while the partition's
snapshot lasts. Every replay of the same log gives the same verdicts.
"""

from collections import deque
from collections.abc import Iterable
from enum import Enum
from typing import Final

from inventory.errors import BrokenInvariant
from inventory.model.arithmetic import MAX_STORED
from inventory.model.record import Record

HORIZON_US: Final = 120_000_000
MOST_MEMBERS: Final = 500_000

Identity = tuple[str, int | None, int | None, str]
Member = tuple[int, Identity, int]  # commit time, identity, offset

_STREAMED_OPS = frozenset({"c", "u", "d"})


class Admission(Enum):
    """A record's verdict from the history of its partition, before any rule checks its contents."""

    NEW = "new"
    RESENT = "resent"
    BEFORE_DEDUPE_HORIZON = "before_dedupe_horizon"
    SNAPSHOT_AFTER_START = "snapshot_after_start"
    MALFORMED = "malformed"


def identity_of(record: Record) -> Identity | None:
    """Return (table, primary key, lsn, op), without lsn for a snapshot row. None is no identity.

    A commit time outside ±(2^53 - 1) belongs to no transaction, so such a record has no identity.
    """
    if not -MAX_STORED <= record.commit_us <= MAX_STORED:
        return None
    # A later step rejects an absent image with its own reason. Until then, primary_key is None.
    primary_key = None
    for image in (record.before, record.after):
        if image is not None:
            primary_key = image.get("id") if isinstance(image, dict) else None
            if type(primary_key) is not int:
                return None
    if record.op == "r":
        return record.table, primary_key, None, "r"
    lsn = record.lsn
    return None if lsn is None else (record.table, primary_key, lsn, record.op)


class Ring:
    """The identities of one partition's records that the connector may still send again."""

    __slots__ = (
        "_arrived",
        "_commits",
        "_oldest_us",
        "highest_lsn",
        "newest_commit_us",
        "newest_resent_us",
        "streamed",
    )

    def __init__(self) -> None:
        self._commits: dict[Identity, int] = {}
        self._arrived: deque[Member] = deque()
        self._oldest_us: int | None = None  # lowest remembered time; None: nothing is forgotten
        self.newest_commit_us: int | None = None
        self.highest_lsn: int | None = None
        self.streamed = False  # a c, u or d was read: the snapshot is over
        self.newest_resent_us: int | None = None  # highest commit time of a member sent again

    def __len__(self) -> int:
        """Return the number of stored members, including those that are due to be forgotten."""
        return len(self._arrived)

    @property
    def span_us(self) -> int:
        """Return the commit time (µs) from the oldest stored member to the newest record, or 0."""
        if not self._arrived or self.newest_commit_us is None:
            return 0
        return max(0, self.newest_commit_us - self._arrived[0][0])

    def replayed_from(self, next_offset: int) -> int:
        """Return the offset from which a replay rebuilds this ring: its first member's offset.

        An empty ring returns `next_offset`, the offset that is read next. A snapshot row may be
        sent again with a later commit time, which the ring ignores. Once its first commit time has
        left the horizon, a replay from the first member would take that row for new. The result is
        therefore 0 while the later time is within the horizon.
        """
        if self.newest_resent_us is not None and self._remembers(self.newest_resent_us):
            return 0
        return self._arrived[0][2] if self._arrived else next_offset

    def admit(self, record: Record) -> Admission:
        """Judge `record` against all earlier ones of its partition, then remember it.

        Raises:
            BrokenInvariant: the ring has more than `MOST_MEMBERS` members.
        """
        identity = identity_of(record)
        if identity is None:
            return Admission.MALFORMED
        known_us = self._commits.get(identity)
        if known_us is not None and self._remembers(known_us):
            self.note_resent(record, known_us)
            return Admission.RESENT
        admission = self._verdict(record)
        self._move(record)
        commit_us, oldest_us = record.commit_us, self._oldest_us
        if oldest_us is None or commit_us >= oldest_us:
            self._commits[identity] = commit_us
            self._arrived.append((commit_us, identity, record.offset))
        self._forget()
        return admission

    def note_resent(self, record: Record, known_us: int | None = None) -> None:
        """Move on after a member that is sent again, and note its commit time if that is later.

        If `known_us` is None, only a snapshot row's commit time may be later: its identity has no
        lsn.
        """
        commit_us = record.commit_us
        is_later = record.op == "r" if known_us is None else commit_us > known_us
        if is_later and (self.newest_resent_us is None or commit_us > self.newest_resent_us):
            self.newest_resent_us = commit_us
        self._move(record)
        self._forget()

    def replay(self, record: Record) -> None:
        """Remember a record that this worker judged before a restart."""
        self.admit(record)

    def identities(self) -> tuple[Member, ...]:
        """Return all remembered members in order of arrival."""
        self._forget()
        return tuple(member for member in self._arrived if self._remembers(member[0]))

    def resume(
        self,
        *,
        newest_commit_us: int | None,
        highest_lsn: int | None,
        streamed: bool,
        newest_resent_us: int | None = None,
        members: Iterable[Member] = (),
    ) -> None:
        """Restore the ring from before a restart.

        Without `members`, the caller replays them afterwards.
        """
        self.newest_commit_us = newest_commit_us
        self.highest_lsn = highest_lsn
        self.streamed = streamed
        self.newest_resent_us = newest_resent_us
        self._set_oldest()
        for member in members:
            commit_us, identity, _offset = member
            self._commits[identity] = commit_us
            self._arrived.append(member)

    def _verdict(self, record: Record) -> Admission:
        """Return the verdict on a record that is not in the ring. The ring is unchanged."""
        if record.op == "r":
            return Admission.SNAPSHOT_AFTER_START if self.streamed else Admission.NEW
        newest_us, highest = self.newest_commit_us, self.highest_lsn
        if newest_us is None or highest is None or record.lsn is None:
            return Admission.NEW
        if record.commit_us < newest_us - HORIZON_US and record.lsn <= highest:
            return Admission.BEFORE_DEDUPE_HORIZON
        return Admission.NEW

    def _move(self, record: Record) -> None:
        """Update newest commit time, highest lsn and the end of the snapshot from the record."""
        commit_us, lsn = record.commit_us, record.lsn
        if lsn is not None and (self.highest_lsn is None or lsn > self.highest_lsn):
            self.highest_lsn = lsn
        is_first = not self.streamed and record.op in _STREAMED_OPS
        if is_first:
            self.streamed = True
        if self.newest_commit_us is None or commit_us > self.newest_commit_us:
            self.newest_commit_us = commit_us
            self._set_oldest()
        elif is_first:
            self._set_oldest()

    def _set_oldest(self) -> None:
        if self.streamed and self.newest_commit_us is not None:
            self._oldest_us = self.newest_commit_us - HORIZON_US

    def _remembers(self, commit_us: int) -> bool:
        oldest_us = self._oldest_us
        return oldest_us is None or commit_us >= oldest_us

    def _forget(self) -> None:
        arrived, oldest_us = self._arrived, self._oldest_us
        if oldest_us is not None:
            while arrived and arrived[0][0] < oldest_us:
                self._drop(arrived.popleft())
        if len(arrived) > MOST_MEMBERS:
            self._sweep()

    def _sweep(self) -> None:
        """Drop expired members that stayed behind an older member with a later commit time."""
        kept: deque[Member] = deque()
        for member in self._arrived:
            if self._remembers(member[0]):
                kept.append(member)
            else:
                self._drop(member)
        self._arrived = kept
        if len(kept) > MOST_MEMBERS:
            problem = (
                f"dedupe ring: {len(kept)} records within 120 s of commit time "
                f"{self.newest_commit_us}, at most {MOST_MEMBERS} are allowed"
            )
            raise BrokenInvariant(problem)

    def _drop(self, member: Member) -> None:
        commit_us, identity, _offset = member
        if self._commits.get(identity) == commit_us:
            del self._commits[identity]

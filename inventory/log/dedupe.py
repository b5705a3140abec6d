"""The dedupe ring, which recognises records that the connector sends again (domain.md 4).

It holds the identities of a partition's records. While the partition has only rows of Debezium's
snapshot, the ring keeps all identities. From the first streamed change on, it recognises only
records whose commit time is at most 120 s before the newest commit time. The ring depends on the
log alone, so every replay of a log gives the same verdicts.
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
    """The dedupe ring's verdict on a record. It depends on earlier records of the partition.

    The archive stores the verdict with the record. `inventory.log.validation` checks table, op and
    images afterwards.
    """

    NEW = "new"
    RESENT = "resent"
    BEFORE_DEDUPE_HORIZON = "before_dedupe_horizon"
    SNAPSHOT_AFTER_START = "snapshot_after_start"
    MALFORMED = "malformed"


def identity_of(record: Record) -> Identity | None:
    """Return (table, primary key, lsn, op), or (table, primary key, None, "r") for a snapshot row.

    Return None for a malformed record (domain.md 11.2): its commit time lies outside ±(2^53 - 1)
    µs, an image is no JSON object with an integer `id`, or a change has no lsn.
    """
    if not -MAX_STORED <= record.commit_us <= MAX_STORED:
        return None
    # If an image is absent, primary_key may be None here. `validate` rejects the record later.
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
        self._oldest_us: int | None = None  # lowest commit time to keep; None: no limit
        self.newest_commit_us: int | None = None
        self.highest_lsn: int | None = None
        self.streamed = False  # True once op c, u or d was read: Debezium's snapshot is over
        # Highest commit time of those re-sent records that have a later commit time than their
        # first copy.
        self.newest_resent_us: int | None = None

    def __len__(self) -> int:
        """Return the number of stored record identities. Some may be older than 120 s."""
        return len(self._arrived)

    @property
    def span_us(self) -> int:
        """Return the newest commit time minus the commit time of the first stored record, in µs.

        The result is never negative. It is 0 for an empty ring.
        """
        if not self._arrived or self.newest_commit_us is None:
            return 0
        return max(0, self.newest_commit_us - self._arrived[0][0])

    def replayed_from(self, next_offset: int) -> int:
        """Return the offset at which a replay must start to rebuild this ring.

        Normally it is the offset of the first record in the ring. For an empty ring it is
        `next_offset`, the offset that is read next.

        There is one exception. Debezium may send a row of its snapshot again, with a later commit
        time. While the ring's 120 s include that time, the result is 0, the start of the log. The
        ring may have dropped the row already, because it stores the first copy's commit time. A
        replay that started after the first copy would accept the second copy as new.
        """
        if self.newest_resent_us is not None and self._is_within_horizon(self.newest_resent_us):
            return 0
        return self._arrived[0][2] if self._arrived else next_offset

    def admit(self, record: Record) -> Admission:
        """Return the verdict on `record` and add its identity to the ring.

        A record isn't added if it is malformed, re-sent, or more than 120 s older than the newest
        record. Call this for each record of the partition, in offset order.

        Raises:
            BrokenInvariant: the ring has more than `MOST_MEMBERS` members.
        """
        identity = identity_of(record)
        if identity is None:
            return Admission.MALFORMED
        known_us = self._commits.get(identity)
        if known_us is not None and self._is_within_horizon(known_us):
            self.note_resent(record, known_us)
            return Admission.RESENT
        admission = self._verdict(record)
        self._update_newest(record)
        commit_us, oldest_us = record.commit_us, self._oldest_us
        if oldest_us is None or commit_us >= oldest_us:
            self._commits[identity] = commit_us
            self._arrived.append((commit_us, identity, record.offset))
        self._drop_expired()
        return admission

    def note_resent(self, record: Record, known_us: int | None = None) -> None:
        """Update the ring's newest commit time and highest lsn from a record that was re-sent.

        `known_us` is the commit time that the ring has stored for the record's first copy. If the
        re-sent record's commit time is later, `newest_resent_us` is raised to it.

        Pass None if the first copy is unknown. A snapshot row (op `r`) then counts as later than
        its first copy. A change doesn't, because both copies of a change have the same commit time.
        """
        commit_us = record.commit_us
        is_later = record.op == "r" if known_us is None else commit_us > known_us
        if is_later and (self.newest_resent_us is None or commit_us > self.newest_resent_us):
            self.newest_resent_us = commit_us
        self._update_newest(record)
        self._drop_expired()

    def replay(self, record: Record) -> None:
        """Add a record that was read before a restart: call `admit`, and ignore the verdict."""
        self.admit(record)

    def identities(self) -> tuple[Member, ...]:
        """Return (commit time, identity, offset) of each record that the ring recognises.

        The result is in offset order.
        """
        self._drop_expired()
        return tuple(member for member in self._arrived if self._is_within_horizon(member[0]))

    def resume(
        self,
        *,
        newest_commit_us: int | None,
        highest_lsn: int | None,
        streamed: bool,
        newest_resent_us: int | None = None,
        members: Iterable[Member] = (),
    ) -> None:
        """Give an empty ring the values that it had before a restart.

        `streamed` is True if Debezium's snapshot is over. A caller that passes no `members` adds
        them afterwards with `replay`, record by record.
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
        """Return the verdict on a record whose identity is not in the ring (domain.md 4).

        A snapshot row after the first change is `SNAPSHOT_AFTER_START`. A change is
        `BEFORE_DEDUPE_HORIZON` if its commit time < newest commit time - 120 s and its lsn ≤ the
        highest lsn so far. The ring is unchanged.
        """
        if record.op == "r":
            return Admission.SNAPSHOT_AFTER_START if self.streamed else Admission.NEW
        newest_us, highest = self.newest_commit_us, self.highest_lsn
        if newest_us is None or highest is None or record.lsn is None:
            return Admission.NEW
        if record.commit_us < newest_us - HORIZON_US and record.lsn <= highest:
            return Admission.BEFORE_DEDUPE_HORIZON
        return Admission.NEW

    def _update_newest(self, record: Record) -> None:
        """Update the newest commit time, the highest lsn and `streamed` from the record.

        `streamed` becomes True at the first change (op c, u or d) after Debezium's snapshot.
        """
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

    def _is_within_horizon(self, commit_us: int) -> bool:
        oldest_us = self._oldest_us
        return oldest_us is None or commit_us >= oldest_us

    def _drop_expired(self) -> None:
        arrived, oldest_us = self._arrived, self._oldest_us
        if oldest_us is not None:
            while arrived and arrived[0][0] < oldest_us:
                self._drop(arrived.popleft())
        if len(arrived) > MOST_MEMBERS:
            self._sweep()

    def _sweep(self) -> None:
        """Drop every member that is older than 120 s.

        `_drop_expired` drops members in order of arrival, and stops at the first member that isn't
        older than 120 s. Older members that arrived after this member are not dropped until this
        member expires, or until this sweep.
        """
        kept: deque[Member] = deque()
        for member in self._arrived:
            if self._is_within_horizon(member[0]):
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

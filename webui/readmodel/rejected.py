"""Queries of rejected records, with the decisions of people to replay or dismiss a record."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ledger.kernel.rows import select, select_one, select_value

SHOWN: Final = 50
COUNTED_TO: Final = 1_000
BYTES_SHOWN: Final = 4000


@dataclass(frozen=True, slots=True)
class RejectedRecord:
    """A rejected record. `settled` is `replayed` or `dismissed`, None without a decision."""

    id: str
    reason: str
    stage: str
    detail: str
    partition: int
    offset: int
    seen_at: datetime
    key: bytes | memoryview | None
    value: bytes | memoryview | None
    settled: str | None
    settled_because: str | None
    settled_by: str | None
    settled_at: datetime | None

    @property
    def key_text(self) -> str:
        """Return the key as text, with undecodable bytes escaped."""
        return _text(self.key)

    @property
    def value_text(self) -> str:
        """Return the first 4,000 characters of the value, with undecodable bytes escaped."""
        return _text(self.value)[:BYTES_SHOWN]


def _text(content: bytes | memoryview | None) -> str:
    return "" if content is None else bytes(content).decode("utf-8", "backslashreplace")


_REJECTED: Final = """
SELECT r.id, r.reason, r.stage, r.detail, r.partition, r."offset", r.seen_at, r.key, r.value,
       m.action AS settled, m.reason AS settled_because, m.actor AS settled_by, m.at AS settled_at
FROM read_model.rejected r LEFT JOIN app.rejected_mark m ON m.record_id = r.id
"""
STATES: Final = ("waiting", "settled", "all")
_LISTED: Final = f"""{_REJECTED}
WHERE (%(reason)s = '' OR r.reason = %(reason)s) AND (%(stage)s = '' OR r.stage = %(stage)s)
  AND (%(item)s = '' OR starts_with(app.key_text(r.key), %(item)s))
  AND (%(state)s = 'all' OR (%(state)s = 'waiting') = (m.record_id IS NULL))
  AND (%(before_id)s = '' OR (r.seen_at, r.id) < (
      SELECT l.seen_at, l.id FROM read_model.rejected l WHERE l.id = %(before_id)s))
ORDER BY r.seen_at DESC, r.id DESC LIMIT %(most)s
"""  # noqa: S608 -- the query above
_REASONS: Final = """
SELECT r.reason, count(*)::int AS records FROM (
    SELECT e.reason FROM read_model.rejected e
    WHERE NOT EXISTS (SELECT FROM app.rejected_mark m WHERE m.record_id = e.id) LIMIT %(most)s) r
GROUP BY r.reason ORDER BY records DESC, r.reason
"""
_WAITING: Final = """
SELECT count(*) FROM (
    SELECT FROM read_model.rejected r
    WHERE NOT EXISTS (SELECT FROM app.rejected_mark m WHERE m.record_id = r.id) LIMIT %(most)s) few
"""


@dataclass(frozen=True, slots=True)
class RejectedFilter:
    """The filters of the list; an empty text filters nothing.

    `item` is the beginning of a key, and `state` one of `STATES`.
    """

    reason: str = ""
    stage: str = ""
    item: str = ""
    state: str = "waiting"


@dataclass(frozen=True, slots=True)
class ReasonCount:
    """The number of waiting records of one reason. Over all reasons, at most 1,000 are counted."""

    reason: str
    records: int


def listed(wanted: RejectedFilter, before_id: str = "") -> list[RejectedRecord]:
    """Return up to 51 records, newest first: one more than a page, to show if more follow.

    With `before_id`, return only records that are older than this record.
    """
    given = {"reason": wanted.reason, "stage": wanted.stage, "item": wanted.item}
    given |= {"state": wanted.state, "before_id": before_id}
    return select(_LISTED, {**given, "most": SHOWN + 1}, RejectedRecord)


def reasons() -> list[ReasonCount]:
    """Return the number of waiting records for each reason, the most frequent first."""
    return select(_REASONS, {"most": COUNTED_TO}, ReasonCount)


def waiting() -> str:
    """Return the number of rejected records without a decision as text, capped at "1,000+"."""
    found = int(select_value(_WAITING, {"most": COUNTED_TO}))
    return f"{COUNTED_TO:,}+" if found >= COUNTED_TO else str(found)


def one(record_id: str) -> RejectedRecord | None:
    """Return the record with this id, or None."""
    return select_one(_REJECTED + " WHERE r.id = %(id)s", {"id": record_id}, RejectedRecord)

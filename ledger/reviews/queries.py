"""Reviews with their newest verdict."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from ledger.kernel.unscoped_rows import read_all, read_one

WAITING: Final = "waiting"
APPROVED: Final = "approved"
REJECTED: Final = "rejected"
LAPSED: Final = "lapsed"
WITHDRAWN: Final = "withdrawn"
_REVIEWS: Final = """
SELECT r.id, r.digest, r.former, r.revision, r.code, r.runs, r.summary::text AS summary,
       r.requested_by, r.requested_at, coalesce(v.verdict, 'waiting') AS verdict,
       coalesce(v.reason, '') AS reason, coalesce(v.growth, 0) AS growth,
       v.decided_by, v.decided_at,
       (SELECT count(*) FROM app.diff_review_key k WHERE k.review = r.id) AS keys
FROM app.diff_review r
LEFT JOIN LATERAL (
    SELECT * FROM app.diff_verdict v WHERE v.review = r.id ORDER BY v.id DESC LIMIT 1
) v ON true
"""
_ONE: Final = _REVIEWS + "WHERE r.digest = %s AND r.revision = %s AND r.code = %s"
_BY_DIGEST: Final = _REVIEWS + "WHERE starts_with(r.digest, %s) ORDER BY r.id DESC"
_OTHER_CODE: Final = (
    _REVIEWS
    + """WHERE r.revision = %s AND r.code <> %s
    AND coalesce(v.verdict, 'waiting') IN ('waiting', 'approved')
ORDER BY r.id DESC LIMIT 1"""
)
_BY_ID: Final = _REVIEWS + "WHERE r.id = %s"
_ALL: Final = _REVIEWS + "ORDER BY r.id DESC"


@dataclass(frozen=True, slots=True)
class Review:
    """A requested review. `verdict` is `waiting` until a person decides; `summary` is JSON.

    `former` and `revision` are the logic revisions of the two `runs`, and `code` is the hash of the
    new rules. `keys` is the number of keys that the runs decided differently. At the switch, up to
    `growth` further keys may differ; the approver has accepted this.
    """

    id: int
    digest: str
    former: int
    revision: int
    code: str
    runs: list[str]
    summary: str
    requested_by: str
    requested_at: datetime
    verdict: str
    reason: str
    growth: int
    decided_by: str | None
    decided_at: datetime | None
    keys: int

    @property
    def subject(self) -> str:
        """Return the subject of the review for the audit log, like `logic revision 7`."""
        return f"logic revision {self.revision}"

    def as_json(self) -> dict[str, Any]:
        """Return the fields of the review by name, without the summary."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "summary"}


def review_of(digest: str, revision: int, code: str) -> Review | None:
    """Return the review of the difference with this digest, or None.

    `revision` is the new logic revision of the review, and `code` the hash of its rules.
    """
    return read_one(Review, _ONE, digest, revision, code)


def open_review_of_other_code(revision: int, code: str) -> Review | None:
    """Return a waiting or approved review of this revision for rules with another hash, or None."""
    return read_one(Review, _OTHER_CODE, revision, code)


def reviews_with(digest: str) -> list[Review]:
    """Return the reviews whose digest begins with `digest`, the newest first."""
    return read_all(Review, _BY_DIGEST, digest)


def review_with(number: int) -> Review | None:
    """Return the review with this id, or None."""
    return read_one(Review, _BY_ID, number)


def reviews() -> list[Review]:
    """Return all reviews, the newest first."""
    return read_all(Review, _ALL)

"""Check that no more keys differ at a switch than a second person has approved.

An approval names the digest of a difference between two runs. The switch compares the revisions
again, at the present end of the log. A key that differs in this comparison should also differ
between the approved runs. Because trade continues, other keys may differ, too. The approver accepts
a number of such keys, the *growth*. If more of them differ, the approval lapses, because no person
has seen their differences.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, LiteralString

from psycopg.rows import class_row

from deploy.errors import StackError
from deploy.revisions.compare import Comparison
from inventory.explain.formatting import counted_text
from streams.sinks.positions import Connection

APPROVED: Final = "approved"
_NAMED: Final = 5  # number of keys listed in a message
_REVIEWS: LiteralString = """
SELECT r.id AS review, r.digest, r.code, r.requested_by, coalesce(v.verdict, 'waiting') AS verdict,
       coalesce(v.decided_by, '') AS decided_by, coalesce(v.reason, '') AS reason,
       coalesce(v.growth, 0) AS growth
FROM app.diff_review r
LEFT JOIN LATERAL (
    SELECT * FROM app.diff_verdict v WHERE v.review = r.id ORDER BY v.id DESC LIMIT 1
) v ON true
WHERE starts_with(r.digest, %s) AND r.former = %s AND r.revision = %s ORDER BY r.id DESC
"""
_OTHER_CODE: LiteralString = """
SELECT r.digest, r.code, coalesce(v.verdict, 'waiting')
FROM app.diff_review r
LEFT JOIN LATERAL (
    SELECT * FROM app.diff_verdict v WHERE v.review = r.id ORDER BY v.id DESC LIMIT 1
) v ON true
WHERE r.revision = %s AND r.code <> %s
    AND coalesce(v.verdict, 'waiting') IN ('waiting', 'approved')
ORDER BY r.id DESC LIMIT 1
"""
_KEYS: LiteralString = "SELECT kind, inv_key FROM app.diff_review_key WHERE review = %s"
_LAPSE: LiteralString = """
INSERT INTO app.diff_verdict (review, requested_by, verdict, reason, decided_by)
VALUES (%s, %s, 'lapsed', %s, %s)
"""
# `ledger.reviews.service` takes the same lock before each verdict.
_LOCK: LiteralString = "SELECT pg_advisory_xact_lock(hashtextextended('diff-review', %s))"
_LEAST_CHARS: Final = 8
_REVIEW: Final = "inventory backfill reviews"


@dataclass(frozen=True, slots=True)
class _Reviewed:
    """A review with its newest verdict."""

    review: int
    digest: str
    code: str
    requested_by: str
    verdict: str
    decided_by: str
    reason: str
    growth: int


@dataclass(frozen=True, slots=True)
class _Key:
    """A key of a reviewed difference. `kind` is "reorder" or "price"."""

    kind: str
    inv_key: str


@dataclass(frozen=True, slots=True)
class Approval:
    """A difference that a second person approved, with every differing key as (kind, inv_key).

    `growth` is the number of other keys that may differ at the switch.
    """

    review: int
    digest: str
    requested_by: str
    decided_by: str
    code: str
    keys: frozenset[tuple[str, str]]
    growth: int = 0

    def as_json(self) -> Mapping[str, object]:
        """Return the fields of this approval that are stored in the record of a switch."""
        return {
            "digest": self.digest,
            "requested_by": self.requested_by,
            "approved_by": self.decided_by,
            "growth": self.growth,
        }


def approval_of(connection: Connection, digest: str, *, former: int, revision: int) -> Approval:
    """Return the approval whose digest begins with `digest`.

    `former` and `revision` are the two compared logic revisions.

    Raises:
        StackError: `digest` is too short, no review of these revisions has it, or the newest
        verdict isn't an approval.
    """
    if len(digest) < _LEAST_CHARS:
        message = (
            f"approval {digest!r}: expected {_LEAST_CHARS} or more characters of a digest; nothing "
            "was switched"
        )
        raise StackError(message, repair=_REVIEW)
    with connection.cursor(row_factory=class_row(_Reviewed)) as cursor:
        found = cursor.execute(_REVIEWS, (digest, former, revision)).fetchone()
    if found is None:
        message = (
            f"no review {digest} of logic revisions {former} and {revision}; nothing was switched"
        )
        raise StackError(message, repair=_REVIEW)
    if found.verdict != APPROVED:
        about = f": {found.reason}" if found.reason else ""
        message = f"the review {found.digest:.12} is {found.verdict}{about}; nothing was switched"
        raise StackError(message, repair=_REVIEW)
    with connection.cursor(row_factory=class_row(_Key)) as cursor:
        keys = cursor.execute(_KEYS, (found.review,)).fetchall()
    return Approval(
        review=found.review,
        digest=found.digest,
        requested_by=found.requested_by,
        decided_by=found.decided_by,
        code=found.code,
        keys=frozenset((one.kind, one.inv_key) for one in keys),
        growth=found.growth,
    )


def refuse_other_review(connection: Connection, revision: int, code: str) -> None:
    """Raise `StackError` if a review of this revision is for rules with another hash than `code`.

    `code` is the hash of the rules to publish. Only waiting and approved reviews count. Two
    sets of rules can't have the same revision number.
    """
    found = connection.execute(_OTHER_CODE, (revision, code)).fetchone()
    if found is not None:
        digest, theirs, verdict = found
        verb = "withdraw" if verdict == APPROVED else "reject"
        message = (
            f"the {verdict} review {digest:.12} of logic revision {revision} is for rules with the "
            f"hash {theirs}. This run has rules with the hash {code}. One number stands for one "
            f"set of rules, so nothing was published. `inventory backfill {verb} {digest:.12}` "
            "ends that review"
        )
        raise StackError(message, repair=_REVIEW)


def refuse_changed(
    connection: Connection, approval: Approval, *, former: int, revision: int
) -> None:
    """Raise `StackError` unless the review still has this approval.

    The function takes the lock of the review's verdicts. The caller's transaction holds this lock,
    so the approval can't change before that transaction commits.
    """
    connection.execute(_LOCK, (approval.review,))
    if approval_of(connection, approval.digest, former=former, revision=revision) != approval:
        message = (
            f"the approval {approval.digest:.12} was replaced by another one meanwhile; nothing "
            "was switched"
        )
        raise StackError(message, repair=_REVIEW)


def refuse_unapproved(
    connection: Connection, approval: Approval | None, found: Comparison, *, by: str
) -> None:
    """Raise `StackError` if more unapproved keys differ than the approval's growth allows.

    In this case, first record that the approval lapses. Without an approval no key may differ. `by`
    is the name of the person who switches.
    """
    known = frozenset[tuple[str, str]]() if approval is None else approval.keys
    accepted = 0 if approval is None else approval.growth
    differing = sorted({(one.kind, one.inv_key) for one in found.differences})
    others = [pair for pair in differing if pair not in known]
    if len(others) <= accepted:
        return
    names = ", ".join(f"{kind} of {key}" for kind, key in others[:_NAMED])
    more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
    if approval is None:
        message = (
            f"logic revision {found.fresh} differs from {found.former} in "
            f"{counted_text(len(differing), 'key')}, and no difference is approved: "
            f"{names}{more}; nothing was switched"
        )
        raise StackError(message, repair=f"inventory revision compare {found.fresh}")
    limit = f", {accepted} accepted" if accepted else ""
    reason = (
        f"{len(others)} of {counted_text(len(differing), 'differing key')} not approved{limit}: "
        f"{names}{more}"
    )
    with connection.transaction():
        refuse_changed(connection, approval, former=found.former, revision=found.fresh)
        connection.execute(_LAPSE, (approval.review, approval.requested_by, reason, by))
    message = f"the approval {approval.digest:.12} has lapsed: {reason}; nothing was switched"
    raise StackError(message, repair=f"inventory revision compare {found.fresh}")

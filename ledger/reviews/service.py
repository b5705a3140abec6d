"""Requests of reviews, decisions on them, and withdrawals of approvals, each by a person.

An approval is valid for one comparison of two runs, identified by its digest, and for one set of
rules, identified by their hash. The approval covers the keys that the runs decided differently.
When the revision is promoted, `deploy.revisions.approval` compares these keys with those that
differ then.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final
from uuid import UUID

from cdc.deciding import NEWEST_SWITCH
from ledger.access.roles import ANALYST, LEAD, OPERATOR, PRICING
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.idempotency import Done, run_command
from ledger.kernel.person_roles import require_role, roles_of
from ledger.kernel.refusal_text import moment_text
from ledger.kernel.transactions import execute, fetch_column, fetch_one, log_action
from ledger.messages import Message, gettext_noop
from ledger.reviews.queries import (
    APPROVED,
    REJECTED,
    WITHDRAWN,
    Review,
    open_review_of_other_code,
    review_of,
)

# Analysts compare revisions. The other roles are responsible for the needs and prices that change.
REVIEWERS: Final = frozenset({ANALYST, LEAD, PRICING, OPERATOR})
_ADD: Final = """
INSERT INTO app.diff_review (digest, former, revision, code, runs, summary, requested_by)
VALUES (%s, %s, %s, %s, %s, %s::jsonb, %s) ON CONFLICT ON CONSTRAINT diff_review_once DO NOTHING
RETURNING id
"""
_ADD_KEYS: Final = """
INSERT INTO app.diff_review_key (review, kind, inv_key)
SELECT %s, kind, inv_key FROM unnest(%s::text[], %s::text[]) AS one (kind, inv_key)
"""
_DECIDE: Final = """
INSERT INTO app.diff_verdict (review, requested_by, verdict, growth, reason, decided_by)
VALUES (%s, %s, %s, %s, %s, %s)
"""

# Advisory locks, because a row lock needs the right to update, which `app_rw` lacks on reviews.
_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended('diff-review', %s))"
_LOCK_REVISION: Final = "SELECT pg_advisory_xact_lock(hashtextextended('diff-review-of', %s))"

ReviewedKey = tuple[str, str]  # kind (reorder or price) and inv_key


@dataclass(frozen=True, slots=True)
class RequestReview:
    """A difference to be reviewed: its digest, its two runs, and every key that differs.

    `former` and `revision` are the logic revisions of the runs; `code` is the hash of the new
    rules.
    """

    digest: str
    former: int
    revision: int
    code: str
    runs: tuple[str, str]
    summary: Mapping[str, Any]
    keys: Collection[ReviewedKey]


def request_review(request: RequestReview, *, actor: str) -> Review:
    """Record the difference for review; return the review.

    The same difference for the same rules is recorded once.

    Raises:
        ServiceError: the person may not request reviews, or nothing differs.
        Conflict: a review of the same logic revision, for rules with another hash, is waiting or
            approved.
    """
    require_role(actor, REVIEWERS)
    if not request.keys:
        refuse(
            "digest", request.digest, "no key differs between these runs: nothing needs a review"
        )

    def work() -> Done:
        _refuse_other_code(request.revision, request.code)
        _write(request, actor)
        return Done()

    run_command(None, "request_review", actor, work, Done, content=request.digest)
    found = review_of(request.digest, request.revision, request.code)
    assert found is not None  # noqa: S101 -- written above, and rows are never deleted
    return found


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict with its reason and, for an approval, the number of further keys that may differ.

    Stock changes between approval and promotion. So at the promotion, keys may differ that were
    equal before. The person who approves accepts up to `growth` of these keys.
    """

    verdict: str
    reason: str = ""
    growth: int = 0


def decide_review(
    review: Review, decision: Decision, *, actor: str, command_id: UUID | None = None
) -> Review:
    """Approve or reject a review; return the review with the new verdict.

    The person who requested the review can't approve it.

    Raises:
        ServiceError: the person may not decide, or would approve a review that they requested.
        Conflict: the review is approved or rejected already. An approval is also refused while
            another review of the same logic revision, for rules with another hash, is waiting or
            approved.
    """
    require_role(actor, REVIEWERS)
    if decision.verdict == APPROVED and actor == review.requested_by:
        rule = gettext_noop("you have requested this review, so another person has to approve it")
        refuse("actor", actor, rule)

    def work() -> Done:
        execute(_LOCK, review.id)
        now = review_of(review.digest, review.revision, review.code)
        if now is not None and now.verdict in (APPROVED, REJECTED) and now.decided_at is not None:
            message = Message(
                "%(decided_by)s has %(verdict)s this difference already, %(at)s",
                decided_by=now.decided_by,
                verdict=Message(now.verdict),
                at=moment_text(now.decided_at),
            )
            raise Conflict(message)
        if decision.verdict == APPROVED:
            _refuse_other_code(review.revision, review.code)
        values = (decision.verdict, decision.growth, decision.reason, actor)
        execute(_DECIDE, review.id, review.requested_by, *values)
        detail = {"digest": review.digest, "revision": review.revision, **asdict(decision)}
        action = f"review_{decision.verdict}"
        log_action(actor=actor, action=action, subject=review.subject, detail=detail)
        return Done()

    content = [review.digest, asdict(decision)]
    run_command(command_id, "decide_review", actor, work, Done, content=content)
    found = review_of(review.digest, review.revision, review.code)
    assert found is not None  # noqa: S101 -- rows are never deleted
    return found


def withdraw_review(
    review: Review, reason: str, *, actor: str, command_id: UUID | None = None
) -> Review:
    """Withdraw the approval of a review; return the review.

    Promoting the revision then needs a new approval. The person who requested the review, the
    person who approved it, and operators may withdraw the approval.

    Raises:
        ServiceError: the person may not withdraw it.
        Conflict: the review is not approved, or its revision is the deciding one, which needs a
            rollback first.
    """
    require_role(actor, REVIEWERS)

    def work() -> Done:
        execute(_LOCK, review.id)
        now = review_of(review.digest, review.revision, review.code)
        if now is None or now.verdict != APPROVED:
            found = Message("gone" if now is None else now.verdict)
            message = Message(
                "only an approved review can be withdrawn, and this one is %(found)s", found=found
            )
            raise Conflict(message)
        _refuse_deciding(now)
        if actor not in (now.requested_by, now.decided_by) and OPERATOR not in roles_of(actor):
            rule = Message(
                "only %(requested_by)s, %(decided_by)s or an operator may withdraw this approval",
                requested_by=now.requested_by,
                decided_by=now.decided_by,
            )
            refuse("actor", actor, rule)
        execute(_DECIDE, review.id, review.requested_by, WITHDRAWN, 0, reason, actor)
        detail = {"digest": review.digest, "revision": review.revision, "reason": reason}
        log_action(actor=actor, action="review_withdrawn", subject=review.subject, detail=detail)
        return Done()

    content = [review.digest, reason]
    run_command(command_id, "withdraw_review", actor, work, Done, content=content)
    found = review_of(review.digest, review.revision, review.code)
    assert found is not None  # noqa: S101 -- rows are never deleted
    return found


def _refuse_deciding(review: Review) -> None:
    """Raise `Conflict` if the revision of the review is the deciding one.

    The caller holds the review's lock, which each approval, rejection and withdrawal takes. A
    switch takes this lock before it commits, so no switch to the revision can commit between this
    check and the withdrawal.
    """
    newest = fetch_one(NEWEST_SWITCH)
    if newest is not None and newest["revision"] == review.revision:
        message = Message(
            "logic revision %(revision)s decides already, so its approval can't be withdrawn: roll"
            " back to the former revision first",
            revision=review.revision,
        )
        raise Conflict(message)


def _refuse_other_code(revision: int, code: str) -> None:
    """Raise `Conflict` if a waiting or approved review of the revision is for other rules.

    `promote` gets only a revision number, so each number must identify one set of rules.
    """
    execute(_LOCK_REVISION, revision)
    other = open_review_of_other_code(revision, code)
    if other is not None:
        message = Message(
            "the %(verdict)s review %(digest)s of logic revision %(revision)s is for rules with "
            "the hash %(other_code)s. This review is for rules with the hash %(code)s. Reject or "
            "withdraw review %(digest)s first, or give the rules of this review another logic "
            "revision",
            verdict=Message(other.verdict),
            digest=other.digest[:12],
            revision=revision,
            other_code=other.code,
            code=code,
        )
        raise Conflict(message)


def _write(request: RequestReview, actor: str) -> None:
    kinds, keys = zip(*sorted(set(request.keys)), strict=True)
    values = (request.digest, request.former, request.revision, request.code)
    added = fetch_column(_ADD, *values, list(request.runs), json.dumps(request.summary), actor)
    if not added:
        return  # a review of this difference is waiting or decided
    execute(_ADD_KEYS, added[0], list(kinds), list(keys))
    detail = {"digest": request.digest, "revision": request.revision, "keys": len(keys)}
    subject = f"logic revision {request.revision}"
    log_action(actor=actor, action="review_requested", subject=subject, detail=detail)

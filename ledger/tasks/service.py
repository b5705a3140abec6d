"""The decisions on the desk Tasks: acknowledge a variance, dismiss or replay a rejected record.

If a person acknowledges the variance of a count, the task is cleared at once. A decision on a
rejected record adds a row to `app.rejected_mark`; the next refresh of the tasks then clears the
task. No decision deletes a count or a record.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from ledger.access.scope import require_key
from ledger.kernel import checks
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.idempotency import run_command
from ledger.kernel.refusal_text import moment_text, person
from ledger.kernel.transactions import execute, ledger_transaction, log_action
from ledger.kernel.unscoped_rows import read_one
from ledger.messages import Message, gettext_noop
from ledger.nouns import counted
from ledger.tasks.kinds import COUNT_VARIANCE

LONGEST_REASON: Final = 500


@dataclass(frozen=True, slots=True)
class OpenVariance:
    """A task about a count's variance (counted minus expected units), read with a row lock.

    `status` is the status of the count: draft or approved.
    """

    kind: str
    subject: str
    inv_key: str | None
    cleared_at: datetime | None
    acknowledged_by: str | None
    variance_units: int
    count_id: int
    status: str
    counted_by: str | None


@dataclass(frozen=True, slots=True)
class RejectedRecord:
    """A record that a worker has rejected; `key` and `value` are its bytes, None for null."""

    id: str
    reason: str
    inv_key: str | None
    partition: int
    key: bytes | memoryview | None
    value: bytes | memoryview | None


@dataclass(frozen=True, slots=True)
class _Mark:
    """The decision on a rejected record (dismissed or replayed), and its actor."""

    action: str
    actor: str | None


@dataclass(frozen=True, slots=True)
class _Acknowledged:
    """The stored result of `acknowledge_variance`: the variance of the count, in units."""

    variance_units: int


@dataclass(frozen=True, slots=True)
class _Dismissed:
    """The stored result of a dismissal: the id of the rejected record."""

    record: str


def acknowledge_variance(
    *,
    task_id: int,
    shown_variance_units: int,
    actor: str,
    command_id: UUID | None = None,
) -> int:
    """Acknowledge the variance of an approved count and clear its task.

    Return the variance: counted minus expected units.

    Raises:
        ServiceError: no such task, the count is still a draft, or `actor` has counted it.
        Conflict: the task has ended, or the variance differs from `shown_variance_units`.
    """

    def work() -> _Acknowledged:
        task = _locked_variance(task_id, actor)
        _refuse_if_moved(task.variance_units, shown_variance_units)
        execute(
            "UPDATE app.task SET acknowledged_by = %s, acknowledged_at = clock_timestamp(),"
            " cleared_at = clock_timestamp(), cleared_why = 'acknowledged' WHERE id = %s",
            actor,
            task_id,
        )
        detail = {"count": task.count_id, "variance": task.variance_units, "task": task_id}
        log_action(actor=actor, action="acknowledge_variance", subject=task.subject, detail=detail)
        return _Acknowledged(task.variance_units)

    kind = f"acknowledge {task_id}"
    return run_command(command_id, kind, actor, work, _Acknowledged, content=task_id).variance_units


def _refuse_if_moved(variance: int, shown: int) -> None:
    if variance != shown:
        message = Message(
            "the difference was %(shown)s when this page was loaded, and is %(variance)s now. "
            "Earlier sales or bookings arrived late. Check the difference and choose again",
            shown=counted(shown, "unit", f"{shown:+d}"),
            variance=f"{variance:+d}",
        )
        raise Conflict(message)


def _locked_variance(task_id: int, actor: str) -> OpenVariance:
    task = read_one(
        OpenVariance,
        "SELECT kind, subject, inv_key, cleared_at, acknowledged_by,"
        " (detail ->> 'variance_units')::bigint AS variance_units,"
        " (detail ->> 'count')::bigint AS count_id, detail ->> 'status' AS status,"
        " detail ->> 'counted_by' AS counted_by FROM app.task WHERE id = %s FOR UPDATE",
        task_id,
    )
    if task is None or task.kind != COUNT_VARIANCE:
        refuse("task", task_id, 'not a task about a count\'s difference: reload the page "Tasks"')
    require_key(task.inv_key or "")
    if task.cleared_at is not None:
        who, at = task.acknowledged_by, moment_text(task.cleared_at)
        message = Message(
            "this task ended by itself, %(at)s: its count needs no decision any more", at=at
        )
        if who:
            message = Message(
                "%(who)s has already acknowledged this difference, %(at)s", who=who, at=at
            )
        raise Conflict(message)
    if task.status == "draft":
        rule = gettext_noop(
            "this count is not approved yet: have the item counted again, or approve the count"
        )
        refuse("task", task_id, rule)
    if task.counted_by == actor:
        rule = gettext_noop(
            "you have counted this item yourself, so another person has to acknowledge the "
            "difference"
        )
        refuse("actor", actor, rule)
    return task


def dismiss_rejected(
    *, record_id: str, reason: str, actor: str, command_id: UUID | None = None
) -> None:
    """Dismiss a rejected record, with a reason of up to 500 characters; stock doesn't change.

    Raise `ServiceError` for an unknown record. Raise `Conflict` if the record was dismissed or
    replayed already.
    """

    def work() -> _Dismissed:
        _mark(record_id, "dismissed", reason, actor)
        return _Dismissed(record_id)

    run_command(command_id, f"dismiss {record_id}", actor, work, _Dismissed, content=reason)


def mark_replayed(*, record_id: str, reason: str, actor: str) -> RejectedRecord:
    """Mark a rejected record as replayed; return it with its key and value as bytes.

    The caller then sends the record to Kafka inside the same transaction. If the mark fails,
    nothing is sent. If sending fails, the mark is rolled back. Raise `Conflict` if the record was
    dismissed or replayed already.
    """
    with ledger_transaction():
        return _mark(record_id, "replayed", reason, actor)


def _mark(record_id: str, action: str, reason: str, actor: str) -> RejectedRecord:
    given = checks.text("reason", reason)
    if len(given) > LONGEST_REASON:
        refuse(
            "reason",
            counted(len(given), "character"),
            Message("at most %(longest_reason)s characters", longest_reason=LONGEST_REASON),
        )
    sql = "SELECT *, app.key_text(key) AS inv_key FROM read_model.rejected WHERE id = %s"
    record = read_one(RejectedRecord, sql, record_id)
    if record is None:
        refuse("record", record_id, "no such rejected record")
    require_key(record.inv_key or "")
    fresh = execute(
        "INSERT INTO app.rejected_mark (record_id, action, reason, actor) VALUES (%s, %s, %s, %s)"
        " ON CONFLICT (record_id) DO NOTHING",
        record_id,
        action,
        given,
        actor,
    )
    if not fresh:
        sql = "SELECT action, actor FROM app.rejected_mark WHERE record_id = %s"
        first = read_one(_Mark, sql, record_id)
        who = "" if first is None else _settled_by(first)
        message = Message(
            "record %(record_id)s needs no decision any more%(who)s", record_id=record_id, who=who
        )
        raise Conflict(message)
    detail = {"reason": given, "rejected_for": record.reason}
    log_action(actor=actor, action=f"{action}_record", subject=record_id, detail=detail)
    return record


def _settled_by(mark: _Mark) -> str:
    return Message(": %(action)s by %(who)s", action=Message(mark.action), who=person(mark.actor))

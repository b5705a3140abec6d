"""The two decisions in the inbox: acknowledge a variance, settle a rejected record.

Neither deletes anything. Each is a fact beside the task; the task's own condition then clears it.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from ledger.access.scope import require_key
from ledger.kernel import checks
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.idempotency import run_command
from ledger.kernel.refusal_text import person
from ledger.kernel.transactions import execute, ledger_transaction, log_action
from ledger.kernel.unscoped_rows import read_one
from ledger.tasks.kinds import COUNT_VARIANCE

LONGEST_REASON: Final = 500


@dataclass(frozen=True, slots=True)
class OpenVariance:
    """A locked task about the variance of a count, with the numbers of its condition."""

    kind: str
    subject: str
    inv_key: str | None
    cleared_at: datetime | None
    cleared_why: str | None
    acknowledged_by: str | None
    variance_units: int
    count_id: int
    status: str
    counted_by: str | None


@dataclass(frozen=True, slots=True)
class RejectedRecord:
    """A record that a worker has rejected, with its original bytes; None if it had none."""

    id: str
    reason: str
    inv_key: str | None
    partition: int
    key: bytes | memoryview | None
    value: bytes | memoryview | None


@dataclass(frozen=True, slots=True)
class _Mark:
    """The action that has settled a rejected record, and its actor."""

    action: str
    actor: str | None


@dataclass(frozen=True, slots=True)
class _Acknowledged:
    """The variance that a person has acknowledged."""

    variance_units: int


@dataclass(frozen=True, slots=True)
class _Dismissed:
    """The id of a rejected record that was settled."""

    record: str


def acknowledge_variance(
    *,
    task_id: int,
    shown_variance_units: int,
    actor: str,
    command_id: UUID | None = None,
) -> int:
    """Acknowledge the variance of a count, as another person than the counter; return its units.

    The task is cleared.
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
        message = (
            f"the difference was {shown} when this was shown and is {variance}"
            " now, because of facts that came in late"
        )
        raise Conflict(message)


def _locked_variance(task_id: int, actor: str) -> OpenVariance:
    task = read_one(
        OpenVariance,
        "SELECT kind, subject, inv_key, cleared_at, cleared_why, acknowledged_by,"
        " (detail ->> 'variance_units')::bigint AS variance_units,"
        " (detail ->> 'count')::bigint AS count_id, detail ->> 'status' AS status,"
        " detail ->> 'counted_by' AS counted_by FROM app.task WHERE id = %s FOR UPDATE",
        task_id,
    )
    if task is None or task.kind != COUNT_VARIANCE:
        refuse("task", task_id, "the difference of a count, which a person may acknowledge")
    require_key(task.inv_key or "")
    if task.cleared_at is not None:
        who = task.acknowledged_by
        message = f"{who} has acknowledged it already" if who else str(task.cleared_why)
        raise Conflict(message)
    if task.status == "draft":
        refuse("task", task_id, "a count that waits: have it counted again or approve it instead")
    if task.counted_by == actor:
        refuse("actor", actor, "another person than the one who counted has to acknowledge")
    return task


def dismiss_rejected(
    *, record_id: str, reason: str, actor: str, command_id: UUID | None = None
) -> None:
    """Settle a rejected record without effect, with a reason."""

    def work() -> _Dismissed:
        _mark(record_id, "dismissed", reason, actor)
        return _Dismissed(record_id)

    run_command(command_id, f"dismiss {record_id}", actor, work, _Dismissed, content=reason)


def mark_replayed(*, record_id: str, reason: str, actor: str) -> RejectedRecord:
    """Mark a rejected record as replayed; return it with the original bytes.

    Call this in the transaction that sends the record: an unmarked record is not sent, and a second
    mark is refused.
    """
    with ledger_transaction():
        return _mark(record_id, "replayed", reason, actor)


def _mark(record_id: str, action: str, reason: str, actor: str) -> RejectedRecord:
    given = checks.text("reason", reason)
    if len(given) > LONGEST_REASON:
        refuse("reason", f"{len(given)} characters", f"at most {LONGEST_REASON} characters")
    sql = "SELECT *, app.key_text(key) AS inv_key FROM read_model.rejected WHERE id = %s"
    record = read_one(RejectedRecord, sql, record_id)
    if record is None:
        refuse("record", record_id, "the id of a rejected record")
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
        who = "" if first is None else f": {first.action} by {person(first.actor)}"
        message = f"record {record_id} is settled already{who}"
        raise Conflict(message)
    detail = {"reason": given, "rejected_for": record.reason}
    log_action(actor=actor, action=f"{action}_record", subject=record_id, detail=detail)
    return record

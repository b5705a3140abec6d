"""The two decisions in the inbox: acknowledge a variance, settle a rejected record.

Neither deletes anything. Each is a fact beside the task; the task's own condition then clears it.
"""

from typing import Final
from uuid import UUID

from ledger.access.scope import require_key
from ledger.kernel import checks
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.transactions import (
    Row,
    execute,
    fetch_one,
    ledger_transaction,
    log_action,
    run_idempotent,
)
from ledger.tasks.kinds import COUNT_VARIANCE

LONGEST_REASON: Final = 500


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

    def work() -> Row:
        task = _locked_variance(task_id, actor)
        variance = int(task["variance_units"])
        if variance != shown_variance_units:
            message = (
                f"the difference was {shown_variance_units} when this was shown and is {variance}"
                " now, because of facts that came in late"
            )
            raise Conflict(message)
        execute(
            "UPDATE app.task SET acknowledged_by = %s, acknowledged_at = clock_timestamp(),"
            " cleared_at = clock_timestamp(), cleared_why = 'acknowledged' WHERE id = %s",
            actor,
            task_id,
        )
        detail = {"count": task["count_id"], "variance": variance, "task": task_id}
        log_action(
            actor=actor, action="acknowledge_variance", subject=task["subject"], detail=detail
        )
        return {"variance_units": variance}

    with ledger_transaction():
        done = run_idempotent(command_id, f"acknowledge {task_id}", actor, work)
    return int(done["variance_units"])


def _locked_variance(task_id: int, actor: str) -> Row:
    task = fetch_one(
        "SELECT kind, subject, inv_key, cleared_at, cleared_why, acknowledged_by,"
        " (detail ->> 'variance_units')::bigint AS variance_units,"
        " (detail ->> 'count')::bigint AS count_id, detail ->> 'status' AS status,"
        " detail ->> 'counted_by' AS counted_by FROM app.task WHERE id = %s FOR UPDATE",
        task_id,
    )
    if task is None or task["kind"] != COUNT_VARIANCE:
        refuse("task", task_id, "the difference of a count, which a person may acknowledge")
    require_key(task["inv_key"] or "")
    if task["cleared_at"] is not None:
        who = task["acknowledged_by"]
        message = f"{who} has acknowledged it already" if who else str(task["cleared_why"])
        raise Conflict(message)
    if task["status"] == "draft":
        refuse("task", task_id, "a count that waits: have it counted again or approve it instead")
    if task["counted_by"] == actor:
        refuse("actor", actor, "another person than the one who counted has to acknowledge")
    return task


def dismiss_rejected(
    *, record_id: str, reason: str, actor: str, command_id: UUID | None = None
) -> None:
    """Settle a rejected record without effect, with a reason."""

    def work() -> Row:
        _mark(record_id, "dismissed", reason, actor)
        return {"record": record_id}

    with ledger_transaction():
        run_idempotent(command_id, f"dismiss {record_id}", actor, work)


def mark_replayed(*, record_id: str, reason: str, actor: str) -> Row:
    """Mark a rejected record as replayed; return its row with the original bytes.

    Call this in the transaction that sends the record: an unmarked record is not sent, and a second
    mark is refused.
    """
    with ledger_transaction():
        return _mark(record_id, "replayed", reason, actor)


def _mark(record_id: str, action: str, reason: str, actor: str) -> Row:
    given = checks.text("reason", reason)
    if len(given) > LONGEST_REASON:
        refuse("reason", f"{len(given)} characters", f"at most {LONGEST_REASON} characters")
    record = fetch_one(
        "SELECT *, app.key_text(key) AS inv_key FROM read_model.rejected WHERE id = %s", record_id
    )
    if record is None:
        refuse("record", record_id, "the id of a rejected record")
    require_key(record["inv_key"] or "")
    fresh = execute(
        "INSERT INTO app.rejected_mark (record_id, action, reason, actor) VALUES (%s, %s, %s, %s)"
        " ON CONFLICT (record_id) DO NOTHING",
        record_id,
        action,
        given,
        actor,
    )
    if not fresh:
        first = fetch_one(
            "SELECT action, actor FROM app.rejected_mark WHERE record_id = %s", record_id
        )
        who = "" if first is None else f": {first['action']} by {first['actor'] or 'the system'}"
        message = f"record {record_id} is settled already{who}"
        raise Conflict(message)
    detail = {"reason": given, "rejected_for": record["reason"]}
    log_action(actor=actor, action=f"{action}_record", subject=record_id, detail=detail)
    return record

"""Execution of requests, for the process `prover`: take the next request, and record its result.

Only one process executes requests at a time: its session in Postgres holds an advisory lock.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cdc.contracts.history_requests import CONFIRMED
from ledger.kernel.transactions import execute, fetch_column, fetch_value, ledger_transaction
from ledger.messages import gettext_noop
from ledger.requests.queries import Request, request_with

KEPT_COMPARISONS: Final = 20
LONGEST_PROBLEM: Final = 4_000
# The lock of the executing process. Proofs and runs that a person starts in a terminal take other
# locks, so they may run at the same time.
_LOCK: Final = "SELECT pg_try_advisory_lock(hashtextextended('history-executor', 0))"
_NEXT: Final = """
UPDATE app.history_request SET started_at = clock_timestamp(), progress = 'starts'
WHERE id = (
    SELECT id FROM app.history_request
    WHERE started_at IS NULL AND cancelled_by IS NULL
        AND (confirmed_by IS NOT NULL OR kind <> ALL(%s))
    ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
) RETURNING id
"""
_HAS_OPEN: Final = """
SELECT EXISTS (SELECT FROM app.history_request WHERE finished_at IS NULL AND cancelled_by IS NULL
    AND (started_at IS NOT NULL OR confirmed_by IS NOT NULL OR kind <> ALL(%s)))
"""
_INTERRUPTED: Final = """
UPDATE app.history_request SET finished_at = clock_timestamp(), problem = %s
WHERE started_at IS NOT NULL AND finished_at IS NULL
"""
_AGAIN: Final = gettext_noop(
    "The process that executed this request ended. Ask again: the finished parts of a run are kept."
)
_PROGRESS: Final = "UPDATE app.history_request SET progress = %s WHERE id = %s"
_FINISH: Final = """
UPDATE app.history_request
SET finished_at = clock_timestamp(), exit_code = %s, problem = %s, result = %s::json
WHERE id = %s AND finished_at IS NULL
"""
_ROWS: Final = """
INSERT INTO app.history_difference (request, kind, rank, inv_key, store, supplier, reason, week,
    how, delta_minor, detail)
SELECT %s, %s, place, d->>'inv_key', d->>'store', coalesce(d->>'supplier', ''),
    coalesce(d->>'reason', ''), d->>'week', d->>'how', (d->>'delta_minor')::bigint, d
FROM jsonb_array_elements(%s::jsonb) WITH ORDINALITY AS one (d, place)
"""
_FORGET: Final = """
DELETE FROM app.history_difference WHERE request NOT IN (
    SELECT id FROM app.history_request WHERE kind = 'compare' AND result IS NOT NULL
    ORDER BY id DESC LIMIT %s)
"""
_SNAPSHOT: Final = """
INSERT INTO app.history_snapshot (document) VALUES (%s::jsonb)
ON CONFLICT (id) DO UPDATE SET at = clock_timestamp(), document = excluded.document
"""


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a request: the exit code of its command, and the text of a problem or "".

    `exit_code` is None if the command was interrupted. `result` is the JSON that the command
    printed. `rows` has the differences that a comparison found, by kind and ordered by rank.
    """

    exit_code: int | None
    problem: str = ""
    result: Any = None
    rows: Mapping[str, Sequence[Mapping[str, Any]]] | None = None


def may_execute() -> bool:
    """Try to take the lock of the executing process; return True if this session has it now.

    While another session holds the lock, return False.
    """
    return bool(fetch_value(_LOCK))


def fail_interrupted() -> int:
    """Record a failure for requests whose executing process has ended; return their number.

    Call `may_execute` first: only the session with the lock may end requests.
    """
    return execute(_INTERRUPTED, _AGAIN)


def has_open() -> bool:
    """Return True if a request waits for its execution, or has started and not ended."""
    return bool(fetch_value(_HAS_OPEN, sorted(CONFIRMED)))


def take_next() -> Request | None:
    """Return the oldest request that may run, marked as started; None if there is none."""
    with ledger_transaction():
        taken = fetch_column(_NEXT, sorted(CONFIRMED))
    return request_with(int(taken[0])) if taken else None


def write_progress(number: int, text: str) -> None:
    """Replace the progress text of a request."""
    execute(_PROGRESS, text[:200], number)


def finish(number: int, ended: Ended) -> None:
    """Record the end of a request with its result.

    Also delete the stored differences of all comparisons but the newest 20.
    """
    result = None if ended.result is None else json.dumps(ended.result)
    with ledger_transaction():
        problem = ended.problem.replace("\0", "")[:LONGEST_PROBLEM]
        execute(_FINISH, ended.exit_code, problem, result, number)
        for kind, rows in (ended.rows or {}).items():
            execute(_ROWS, number, kind, json.dumps(list(rows)))
        execute(_FORGET, KEPT_COMPARISONS)


def write_snapshot(document: Mapping[str, Any]) -> None:
    """Replace the stored state of archive and runs, which the page History shows.

    `document` has the fields that `inventory backfill status --json` prints.
    """
    execute(_SNAPSHOT, json.dumps(dict(document)))

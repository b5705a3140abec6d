"""Requests of the analyst desk with their state, and the stored state of archive and runs."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from cdc.contracts.history_requests import CONFIRMED, PUBLISH
from ledger.kernel.transactions import fetch_one
from ledger.kernel.unscoped_rows import read_all, read_one
from ledger.messages import gettext_noop

WAITING: Final = "waiting"
TO_CONFIRM: Final = gettext_noop("to confirm")
RUNNING: Final = "running"
DONE: Final = "done"
FAILED: Final = "failed"
CANCELLED: Final = "cancelled"

# Exit codes of commands that have done their work. With 1, the command found a difference.
_ENDS: Final = frozenset({0, 1})
_COLUMNS: Final = """
SELECT id, kind, arguments::text AS arguments, requested_by, requested_at, confirmed_by,
       confirmed_at, cancelled_by, cancelled_at, started_at, finished_at, exit_code, progress,
       problem, result IS NOT NULL AS has_result
FROM app.history_request
"""
_ONE: Final = _COLUMNS + "WHERE id = %s"
_TO_CONFIRM: Final = (
    _COLUMNS
    + """WHERE kind = ANY(%s) AND confirmed_by IS NULL AND cancelled_by IS NULL
    AND finished_at IS NULL ORDER BY id"""
)
_NEWEST: Final = _COLUMNS + "WHERE kind = ANY(%s) ORDER BY id DESC LIMIT %s"
_SAME: Final = (
    _COLUMNS
    + """WHERE kind = %s AND arguments = %s::jsonb AND cancelled_by IS NULL
    AND (finished_at IS NULL OR result IS NOT NULL) ORDER BY id DESC LIMIT 1"""
)
_COMPARISON: Final = """
SELECT id FROM app.history_request WHERE kind = 'compare' AND result->>'digest' = %s
ORDER BY id DESC LIMIT 1
"""
_RESULT: Final = "SELECT result::text AS result FROM app.history_request WHERE id = %s"
_SNAPSHOT: Final = "SELECT at, document::text AS document FROM app.history_snapshot"


@dataclass(frozen=True, slots=True)
class Request:
    """A request of the analyst desk for a command.

    `arguments` is JSON. `exit_code` is the exit code of the command. It is None before the end of
    the command, and after an interruption.
    """

    id: int
    kind: str
    arguments: str
    requested_by: str
    requested_at: datetime
    confirmed_by: str | None
    confirmed_at: datetime | None
    cancelled_by: str | None
    cancelled_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    exit_code: int | None
    progress: str
    problem: str
    has_result: bool

    @property
    def given(self) -> dict[str, str]:
        """Return the arguments by name."""
        found = dict(json.loads(self.arguments))
        if self.kind == PUBLISH and "revision" in found:
            # Earlier releases stored a logic revision as the argument `revision`. The command
            # accepts this number in place of a run's name.
            found["run"] = found.pop("revision")
        return found

    @property
    def state(self) -> str:
        """Return `to confirm`, `waiting`, `running`, `done`, `failed` or `cancelled`."""
        if self.cancelled_by is not None:
            return CANCELLED
        if self.finished_at is not None:
            return DONE if self.exit_code in _ENDS and not self.problem else FAILED
        if self.started_at is not None:
            return RUNNING
        needs_person = self.kind in CONFIRMED and self.confirmed_by is None
        return TO_CONFIRM if needs_person else WAITING

    @property
    def is_open(self) -> bool:
        """Return True until the request has ended."""
        return self.state in (TO_CONFIRM, WAITING, RUNNING)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of archive and runs, as `inventory backfill status --json` printed it at `at`."""

    at: datetime
    document: Mapping[str, Any]


def request_with(number: int) -> Request | None:
    """Return the request with this id, or None."""
    return read_one(Request, _ONE, number)


def newest_requests(kinds: list[str], most: int) -> list[Request]:
    """Return the newest `most` requests of these kinds, newest first."""
    return read_all(Request, _NEWEST, kinds, most)


def requests_to_confirm() -> list[Request]:
    """Return the requests that wait for a confirmation, oldest first."""
    return read_all(Request, _TO_CONFIRM, sorted(CONFIRMED))


def same_request(kind: str, arguments: Mapping[str, str]) -> Request | None:
    """Return the newest request of this kind with these arguments, None without one.

    Only requests that are open or have a result are found.
    """
    return read_one(Request, _SAME, kind, json.dumps(dict(arguments)))


def result_of(number: int) -> Any:  # noqa: ANN401 -- the JSON of any command
    """Return the JSON that the command of the request printed, or None."""
    found = fetch_one(_RESULT, number)
    return None if found is None or found["result"] is None else json.loads(found["result"])


def comparison_with(digest: str) -> int | None:
    """Return the id of the newest comparison whose difference has this digest, or None."""
    found = fetch_one(_COMPARISON, digest)
    return None if found is None else int(found["id"])


def snapshot() -> Snapshot | None:
    """Return the state of archive and runs that the prover stored last, or None without any."""
    found = fetch_one(_SNAPSHOT)
    return None if found is None else Snapshot(found["at"], json.loads(found["document"]))

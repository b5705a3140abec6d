"""Ask for a command of the analyst desk, confirm the request, or cancel it.

Analysts and operators may ask; all reviewers may ask for the explanation of a key. A request to
publish, shadow, cut over or roll back waits until an operator other than the asker confirms it. The
command of a cut-over checks three things: the difference is approved, the workers run the approved
rules, and the workers have caught up.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final
from uuid import UUID

from cdc.contracts.history_requests import CONFIRMED, FORMS, first_problem, given_arguments
from ledger.access.roles import ANALYST, OPERATOR
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.idempotency import Done, Written, run_command
from ledger.kernel.person_roles import require_role, roles_of
from ledger.kernel.transactions import execute, fetch_value, log_action
from ledger.messages import Message, gettext_noop
from ledger.requests.queries import Request, request_with
from ledger.reviews.service import REVIEWERS

ASKERS: Final = frozenset({ANALYST, OPERATOR})
# Reviewers may also ask for the explanation of a key, because they approve differences of keys.
_EXPLAIN: Final = "explain"
MOST_OPEN: Final = 20
_ADD: Final = """
INSERT INTO app.history_request (kind, arguments, requested_by) VALUES (%s, %s::jsonb, %s)
RETURNING id
"""
_OPEN: Final = """
SELECT count(*) FROM app.history_request WHERE finished_at IS NULL AND cancelled_by IS NULL
"""
_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended('history-request', 0))"
_CONFIRM: Final = """
UPDATE app.history_request SET confirmed_by = %s, confirmed_at = clock_timestamp()
WHERE id = %s AND confirmed_by IS NULL AND cancelled_by IS NULL AND started_at IS NULL
"""
_CANCEL: Final = """
UPDATE app.history_request SET cancelled_by = %s, cancelled_at = clock_timestamp()
WHERE id = %s AND cancelled_by IS NULL AND started_at IS NULL
"""


@dataclass(frozen=True, slots=True)
class AskHistory:
    """A request: its kind and its arguments by name (`cdc.contracts.history_requests`)."""

    kind: str
    arguments: Mapping[str, str]


def ask_history(wanted: AskHistory, *, actor: str, command_id: UUID | None = None) -> int:
    """Record a request and return its id.

    Raises:
        ServiceError: the person may not ask for this command, or an argument breaks its rule.
        Conflict: 20 requests are open already.
    """
    if wanted.kind not in FORMS:
        refuse("kind", wanted.kind, Message("one of %(forms)s", forms=", ".join(FORMS)))
    require_role(actor, REVIEWERS if wanted.kind == _EXPLAIN else ASKERS)
    arguments = given_arguments(wanted.kind, wanted.arguments)
    if problem := first_problem(wanted.kind, arguments):
        name, rule = problem
        refuse(name, arguments.get(name, ""), rule)

    def work() -> Written:
        execute(_LOCK)
        if fetch_value(_OPEN) >= MOST_OPEN:
            message = Message(
                "%(most_open)s requests are open already: cancel one, or wait until one has ended",
                most_open=MOST_OPEN,
            )
            raise Conflict(message)
        number = int(fetch_value(_ADD, wanted.kind, json.dumps(arguments), actor))
        detail = {"request": number, **arguments}
        log_action(actor=actor, action=f"asked_{wanted.kind}", subject="history", detail=detail)
        return Written(number)

    return run_command(command_id, "ask_history", actor, work, Written, content=asdict(wanted)).id


def confirm_request(number: int, *, actor: str, command_id: UUID | None = None) -> None:
    """Confirm a request that needs a second person, so that it may run.

    Raises:
        ServiceError: the person is no operator or made the request. Or the request needs no
            confirmation.
        Conflict: the request was confirmed, cancelled or started already, or doesn't exist.
    """
    require_role(actor, {OPERATOR})

    def work() -> Done:
        found = _request(number)
        if found.kind not in CONFIRMED:
            refuse("form", found.kind, "this request needs no confirmation")
        if found.requested_by == actor:
            rule = gettext_noop("you have made this request, so another person has to confirm it")
            refuse("actor", actor, rule)
        _change(_CONFIRM, found, actor, "confirmed")
        return Done()

    run_command(command_id, f"confirm_request {number}", actor, work, Done, content=number)


def cancel_request(number: int, *, actor: str, command_id: UUID | None = None) -> None:
    """Cancel a request that has not started. Its asker and operators may do so.

    Raises:
        ServiceError: the person may not cancel it.
        Conflict: the request has started or ended already, or doesn't exist.
    """
    require_role(actor, REVIEWERS)

    def work() -> Done:
        found = _request(number)
        if actor != found.requested_by and OPERATOR not in roles_of(actor):
            rule = Message(
                "only %(requested_by)s, who made this request, or an operator may cancel it",
                requested_by=found.requested_by,
            )
            refuse("actor", actor, rule)
        _change(_CANCEL, found, actor, "cancelled")
        return Done()

    run_command(command_id, f"cancel_request {number}", actor, work, Done, content=number)


def _request(number: int) -> Request:
    found = request_with(number)
    if found is None:
        message = Message("there is no request %(number)s", number=number)
        raise Conflict(message)
    return found


def _change(statement: str, found: Request, actor: str, action: str) -> None:
    if not execute(statement, actor, found.id):
        now = _request(found.id)
        message = Message("request %(id)s is %(state)s already", id=now.id, state=now.state)
        raise Conflict(message)
    detail = {"request": found.id, **found.given}
    log_action(actor=actor, action=f"{action}_{found.kind}", subject="history", detail=detail)

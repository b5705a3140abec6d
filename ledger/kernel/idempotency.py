"""Commands that take effect once, however often their command id arrives.

A command id comes from the browser. A double tap sends it twice. The second call waits for the
first on the primary key of `app.command` and returns the result of the first one.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from ledger.kernel.errors import refuse
from ledger.kernel.transactions import execute, ledger_transaction
from ledger.kernel.unscoped_rows import R, read_one, typed

# The result of a command as `app.command` stores it: free-form JSON.
ResultDocument = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Written:
    """The result of a command that writes one row: the row's id."""

    id: int


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a command that returns nothing."""


@dataclass(frozen=True, slots=True)
class _FirstUse:
    """The kind of the command that used an id first, and its result: JSON, as text or parsed."""

    kind: str
    result: str | ResultDocument


def run_command(
    command_id: UUID | None, kind: str, actor: str | None, work: Callable[[], R], result: type[R]
) -> R:
    """Execute `work` as `run_idempotent` does; return its result as a typed value.

    `result` is a dataclass whose fields hold JSON values, because `app.command` stores them.
    """
    document = run_idempotent(command_id, kind, actor, lambda: asdict(work()))
    return typed(result, document)


def run_idempotent(
    command_id: UUID | None,
    kind: str,
    actor: str | None,
    work: Callable[[], ResultDocument],
) -> ResultDocument:
    """Execute `work` in one transaction, or return the first result of the same `command_id`.

    Without a command id, execute `work` each time.
    """
    with ledger_transaction():
        if command_id is None:
            return work()
        fresh = execute(
            "INSERT INTO app.command (command_id, kind, actor) VALUES (%s, %s, %s)"
            " ON CONFLICT (command_id) DO NOTHING",
            command_id,
            kind,
            actor,
        )
        if not fresh:
            return _first_result(command_id, kind)
        result = work()
        execute(
            "UPDATE app.command SET result = %s::jsonb WHERE command_id = %s",
            json.dumps(result, default=str),
            command_id,
        )
        return result


def _first_result(command_id: UUID, kind: str) -> ResultDocument:
    sql = "SELECT kind, result FROM app.command WHERE command_id = %s"
    first = read_one(_FirstUse, sql, command_id)
    if first is None or first.kind != kind:
        refuse("command_id", str(command_id), f"belongs to another command than {kind}")
    return dict(json.loads(first.result) if isinstance(first.result, str) else first.result)

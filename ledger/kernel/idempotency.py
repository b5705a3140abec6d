"""Idempotent commands: a command takes effect once, however often its id is received.

Each form of a page has a command id. If a double tap sends the form twice, the second call waits
for the first call at the primary key of `app.command`. Then it returns the first call's result.

A person may also go back in the browser, change the values, and send the form again with the same
id. Such a call raises `FormReused`, because the first result would hide that the new values had no
effect.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from ledger.kernel.errors import FormReused
from ledger.kernel.refusal_text import moment_text, person
from ledger.kernel.transactions import execute, ledger_transaction
from ledger.kernel.unscoped_rows import R, read_one, typed
from ledger.messages import Message

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
    """The row of `app.command` for a command id that was used before.

    `content` is the hash of the command's values. It is None if an earlier version of the
    application wrote the row. `result` is JSON, as text or parsed.
    """

    kind: str
    actor: str | None
    content: str | None
    result: str | ResultDocument
    at: datetime


def run_command(
    command_id: UUID | None,
    kind: str,
    actor: str | None,
    work: Callable[[], R],
    result: type[R],
    *,
    content: object,
) -> R:
    """Execute `work` once per command id, as `run_idempotent` does; return its result.

    `work` returns an instance of the dataclass `result`. The fields of this class must be JSON
    values, because `app.command` stores them. A repeated call returns an instance with the stored
    values.
    """
    document = run_idempotent(command_id, kind, actor, lambda: asdict(work()), content=content)
    return typed(result, document)


def run_idempotent(
    command_id: UUID | None,
    kind: str,
    actor: str | None,
    work: Callable[[], ResultDocument],
    *,
    content: object,
) -> ResultDocument:
    """Execute `work` in one transaction, or return the stored result of `command_id`.

    `kind` names the command and its subject, for example `void_count 7`. `content` has the values
    as the caller received them. `app.command` stores their hash. With command id None, `work` runs
    each time.

    Raise `FormReused` if the id was used with another kind, content or actor.
    """
    with ledger_transaction():
        if command_id is None:
            return work()
        fresh = execute(
            "INSERT INTO app.command (command_id, kind, actor, content) VALUES (%s, %s, %s, %s)"
            " ON CONFLICT (command_id) DO NOTHING",
            command_id,
            kind,
            actor,
            content_hash(content),
        )
        if not fresh:
            return _first_result(command_id, kind, actor, content)
        result = work()
        execute(
            "UPDATE app.command SET result = %s::jsonb WHERE command_id = %s",
            json.dumps(result, default=str),
            command_id,
        )
        return result


def content_hash(content: object) -> str:
    """Return the SHA-256 hash of a command's values as 64 hexadecimal digits.

    The order of a mapping doesn't matter, and a dataclass is hashed as a mapping of its fields.

    Values whose name begins with `shown` are left out. They are the values that the page displayed,
    for detecting changes by others. After a lost response, a person may send the same command again
    from a page that displays newer values. Both commands must have the same hash.
    """
    text = json.dumps(_plain(content), sort_keys=True, default=str)
    return sha256(text.encode()).hexdigest()


def _plain(content: object) -> object:
    """Return the content as mappings and lists, without values whose name begins with `shown`."""
    if is_dataclass(content):
        return _plain({field.name: getattr(content, field.name) for field in fields(content)})
    if isinstance(content, Mapping):
        given = {str(name): _plain(value) for name, value in content.items()}
        return {name: value for name, value in given.items() if not name.startswith("shown")}
    if isinstance(content, tuple | list):
        return [_plain(value) for value in content]
    return content


def _first_result(
    command_id: UUID, kind: str, actor: str | None, content: object
) -> ResultDocument:
    sql = "SELECT kind, actor, content, result, at FROM app.command WHERE command_id = %s"
    first = read_one(_FirstUse, sql, command_id)
    if first is None:
        message = f"app.command refused {command_id} as a duplicate, but has no row with this id"
        raise LookupError(message)
    _refuse_reuse(first, kind, actor, content)
    return dict(json.loads(first.result) if isinstance(first.result, str) else first.result)


def _refuse_reuse(first: _FirstUse, kind: str, actor: str | None, content: object) -> None:
    """Raise `FormReused` unless the first use had the same kind, content and actor.

    Rows that earlier versions of the application wrote have no content. For these rows, only the
    kind is compared.
    """
    is_known = first.content is not None
    again = Message(
        "Check the page. If your values are still needed, send them again from that page."
    )
    if is_known and first.actor != actor:
        message = Message(
            "%(actor)s has already sent this form, at %(at)s. Your values weren't written. "
            "%(again)s",
            actor=person(first.actor),
            at=moment_text(first.at),
            again=again,
        )
        raise FormReused(message)
    if first.kind != kind or (is_known and first.content != content_hash(content)):
        message = Message(
            "This form was already sent with different values, at %(at)s. The new values weren't "
            "written. %(again)s",
            at=moment_text(first.at),
            again=again,
        )
        raise FormReused(message)

"""A copy of the audit chain's newest number and hash (the head), in a file outside of Postgres.

The owner of the database can remove the newest entries of the audit log and of its chain together.
The file then has a number that the chain no longer has. In this case the heartbeat service leaves
the file unchanged, so `inventory audit verify` still reports the removal later.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import psycopg
from psycopg.types.json import Jsonb

from cdc.settings import Connections

_NEWEST: Final = (
    "SELECT place, encode(hash, 'hex') FROM app.action_chain ORDER BY place DESC LIMIT 1"
)
_AT: Final = "SELECT encode(hash, 'hex') FROM app.action_chain WHERE place = %s"

_ACCEPTED: Final = """
INSERT INTO app.action_log (actor, action, subject, detail)
VALUES (%s, 'audit_accepted', 'action_log', %s)
"""


@dataclass(frozen=True, slots=True)
class Head:
    """Number (`place`, from 1) and hexadecimal hash of a chain entry; 0 and "" for no entry."""

    place: int = 0
    hash: str = ""


class UnreadableHead(Exception):
    """The head file exists but does not contain an entry's number (`place`) and hash."""


def path_of(settings: Connections) -> Path:
    """Return the path of the head file of this installation."""
    return settings.home / "audit-head.json"


def kept(path: Path) -> Head:
    """Return the head in the file; without a file, return number 0 and hash "".

    Raises:
        UnreadableHead: the file is damaged.
    """
    try:
        found = json.loads(path.read_text("utf-8"))
        return Head(int(found["place"]), str(found["hash"]))
    except FileNotFoundError:
        return Head()
    except (ValueError, KeyError, TypeError) as error:
        message = (
            f"{path} is damaged: a JSON object with place and hash was expected ({error!r}); the"
            " file was not changed"
        )
        raise UnreadableHead(message) from error


def newest(connection: psycopg.Connection) -> Head:
    """Return number and hash of the newest chain entry in Postgres; 0 and "" for an empty chain."""
    row = connection.execute(_NEWEST).fetchone()
    return Head() if row is None else Head(*row)


def is_on_chain(connection: psycopg.Connection, head: Head) -> bool:
    """Return True if the chain in Postgres still has the entry `head`, or if `head` is empty."""
    if not head.place:
        return True
    row = connection.execute(_AT, (head.place,)).fetchone()
    return row is not None and row[0] == head.hash


def write(path: Path, head: Head) -> None:
    """Replace the head file atomically; only its owner can read it."""
    staged = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(asdict(head), file)
    staged.replace(path)


def follow(connection: psycopg.Connection, path: Path) -> Head | None:
    """Write number and hash of the newest chain entry to the head file, and return both.

    If the chain no longer contains the head in the file, leave the file unchanged and return None.

    Raises:
        UnreadableHead: the file is damaged.
    """
    before = kept(path)
    if not is_on_chain(connection, before):
        return None
    now = newest(connection)
    if now != before:
        write(path, now)
    return now


def log_accepted(connection: psycopg.Connection, actor: str, detail: Mapping[str, object]) -> None:
    """Append an entry to the audit log: `actor` accepts the log in its damaged state.

    `detail` has the actor's reason and the number of the head in the file.
    """
    connection.execute(_ACCEPTED, (actor, Jsonb(dict(detail))))

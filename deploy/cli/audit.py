"""Subcommands of the audit log: verify the hash chain, accept a gap, list refused requests."""

import getpass
from dataclasses import asdict, astuple
from typing import TYPE_CHECKING, Annotated, Final

import typer

from deploy import output
from deploy.errors import StackError
from deploy.stack.django import connect_django
from deploy.stack.runtime import load_environment
from inventory.explain.formatting import counted_text

if TYPE_CHECKING:
    from cdc.settings import Connections
    from ledger.audit.chain import Verdict

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_BACKUP: Final = "inventory audit verify --json > audit.json  # compare these entries with a backup"

_REFUSED: Final = (
    *("kind", "account", "source", "address", "reason", "times"),
    *("first", "last"),
)

audit = typer.Typer(help="The audit log: it records who did what.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.add_typer(audit, name="audit")


@audit.command()
def verify(*, json: Json = False) -> None:
    """Check that no entry of the audit log was changed or removed. Exit 1 if one was.

    Each entry has a hash, computed from its content and from the hash of the entry before. A file
    outside of Postgres keeps the hash of the newest entry, so that the command also notices if the
    newest entries were removed.
    """
    load_environment()
    from cdc.settings import Connections  # noqa: PLC0415 -- reads the environment loaded above

    settings = Connections()
    found = _verdict(settings)
    rows = [(each.place, each.action_id, each.found) for each in found.breaks]
    if json:
        breaks = [dict(zip(("place", "action_id", "found"), row, strict=True)) for row in rows]
        output.as_json({"place": found.head.place, "hash": found.head.hash, "breaks": breaks})
    elif rows:
        output.table("", ("place", "entry", "found"), rows)
    else:
        entries = counted_text(found.head.place, "entry", "entries")
        output.console.print(f"{entries}, none changed; hash {found.head.hash}")
    if rows:
        places = counted_text(len(rows), "place")
        message = f"the audit log was changed in {places}; nothing was written"
        raise StackError(message, repair=_BACKUP)


@audit.command()
def accept(
    *,
    reason: Annotated[
        str, typer.Option(help="Reason for the missing entries. The audit log keeps it.")
    ],
) -> None:
    """Declare the audit log complete as it is now, after a restore of Postgres from a backup.

    A backup lacks the newest entries, so `audit verify` reports them as missing. This command adds
    an entry with the reason and your account. From then on, `audit verify` accepts the gap, and
    requires the new entry.
    """
    load_environment()
    import psycopg  # noqa: PLC0415 -- other verbs start without it

    from cdc.settings import Connections  # noqa: PLC0415 -- reads the environment loaded above
    from ledger.audit import head  # noqa: PLC0415 -- as above

    if not reason.strip():
        message = "--reason is empty: expected the reason for the difference; nothing was written"
        raise StackError(message)
    settings = Connections()
    path = head.path_of(settings)
    detail = {"reason": reason.strip(), "outside": head.kept(path).place}
    with psycopg.connect(settings.database_url.get_secret_value(), connect_timeout=5) as connection:
        head.log_accepted(connection, getpass.getuser(), detail)
        connection.commit()
        now = head.newest(connection)
    head.write(path, now)
    output.console.print(f"entry {now.place} is the newest of the audit log; its hash is in {path}")


@audit.command()
def refused(
    *,
    hours: Annotated[
        int, typer.Option(min=1, max=2_160, help="Number of hours to look back from now.")
    ] = 24,
    account: Annotated[str, typer.Option(help="User name: show one account only.")] = "",
    most: Annotated[int, typer.Option(min=1, max=100_000, help="Largest number of rows.")] = 200,
    json: Json = False,
) -> None:
    """List refused requests and logins with account, source, address, reason and count."""
    connect_django()
    from webui.accounts.refusals import refusals  # noqa: PLC0415 -- needs Django set up

    found = refusals(hours=hours, account=account, most=most)
    if json:
        output.as_json([asdict(each) for each in found])
        return
    rows = [astuple(each) for each in found]
    title = f"{counted_text(len(rows), 'refusal')} in {counted_text(hours, 'hour')}"
    output.table(title, _REFUSED, rows)


def _verdict(settings: "Connections") -> "Verdict":
    import psycopg  # noqa: PLC0415 -- other verbs start without it

    from ledger.audit import chain, head  # noqa: PLC0415 -- as above

    outside = head.kept(head.path_of(settings))
    with psycopg.connect(
        settings.database_url.get_secret_value(), autocommit=True, connect_timeout=5
    ) as connection:
        return chain.verify(connection, outside)

"""Subcommands about rejected records: list, show, dismiss, replay."""

import base64
from collections.abc import Mapping
from dataclasses import asdict
from getpass import getuser
from typing import Annotated, Any, Final

import typer

from cdc.contracts.times import with_times
from deploy import output
from deploy.cli import option_checks
from deploy.errors import StackError
from deploy.stack.django import connect_django
from deploy.stack.runtime import load_environment

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Ids = Annotated[
    list[str], typer.Argument(metavar="ID...", help="Record id: generation-partition-offset.")
]
Reason = Annotated[str, typer.Option(help="Your reason; it is kept with the record.")]

_COLUMNS: Final = (
    'r.id, generation, partition, "offset", r.reason, stage, detail, logic_revision, commit_us,'
    " seen_at, m.action AS settled, m.reason AS settled_because, m.actor AS settled_by"
)
_MOST: Final = 1_000_000
_FROM: Final = "read_model.rejected r LEFT JOIN app.rejected_mark m ON m.record_id = r.id"
_NEWEST: Final = f"""
SELECT {_COLUMNS} FROM {_FROM} WHERE NOT %(open)s OR m.record_id IS NULL
ORDER BY seen_at DESC, r.id LIMIT %(limit)s
"""  # noqa: S608 -- constants
_ONE: Final = f"SELECT {_COLUMNS}, key, value FROM {_FROM} WHERE r.id = %(id)s"  # noqa: S608 -- constants
_WARNING: Final = """\
Workers count a replayed record as new. If ledger and workers agree already, the record has been
counted, and a replay would count it twice: dismiss it instead. Nothing was sent. To send, add
--yes, and afterwards run `inventory verify`."""

rejected = typer.Typer(
    help="Rejected records: the rules could not apply them.", no_args_is_help=True
)


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.add_typer(rejected, name="rejected")


@rejected.command("list")
def rejected_list(
    *,
    limit: Annotated[int, typer.Option(help="Largest number of records.")] = 50,
    still_open: Annotated[
        bool, typer.Option("--open", help="Only records that are neither dismissed nor replayed.")
    ] = False,
    json: Json = False,
) -> None:
    """List rejected records, newest first."""
    option_checks.check_int("--limit", limit, most=_MOST)
    rows = _rows(load_environment(), _NEWEST, {"limit": limit, "open": still_open})
    if json:
        output.as_json(rows)
    else:
        columns = ("id", "seen_at", "reason", "stage", "detail", "settled")
        shown = [[row[name] for name in columns] for row in _with_text_times(rows)]
        output.table(f"{len(rows)} rejected", columns, shown)


@rejected.command("show")
def rejected_show(
    identity: Annotated[
        str, typer.Argument(metavar="ID", help="Record id: generation-partition-offset.")
    ],
) -> None:
    """Print one rejected record as JSON: key, bytes, position and reason."""
    output.as_json(_one(load_environment(), identity))


@rejected.command("dismiss")
def rejected_dismiss(ids: Ids, *, reason: Reason) -> None:
    """Dismiss rejected records that you have checked: workers will never apply them."""
    connect_django()
    from ledger.tasks.service import dismiss_rejected  # noqa: PLC0415 -- needs Django set up

    for identity in ids:
        dismiss_rejected(record_id=identity, reason=reason, actor=getuser())
        output.console.print(f"dismissed {identity}")


@rejected.command("replay")
def rejected_replay(
    ids: Ids,
    *,
    reason: Reason,
    yes: Annotated[bool, typer.Option("--yes", help="Confirm, and send them.")] = False,
    json: Json = False,
) -> None:
    """Send rejected records again, after a comparison with Postgres and the workers.

    Without --yes, the command only compares, and ends with exit code 1. If a replay can't repair
    one of the records, the command sends none, and prints what to do instead.
    """
    connect_django()
    from webui.desks.system import replay as replays  # noqa: PLC0415 -- needs Django set up

    found = [replays.preview(identity) for identity in ids]
    if json:
        output.as_json([asdict(each) for each in found])
    else:
        columns = ("id", "reason", "inv_key", "op", "row", "ledger_units", "level_units", "settled")
        shown = [[getattr(preview, name) for name in columns] for preview in found]
        output.table("rejected records, with the units of ledger and workers", columns, shown)
    useless = [each for each in found if each.instead]
    if useless:
        steps = ". ".join(f"{each.id} ({each.reason}): {each.instead}" for each in useless)
        them = "the record" if len(useless) == 1 else "these records"
        message = f"a replay can't repair {them}. Nothing was sent. {steps}. Then dismiss {them}"
        dismissed = " ".join(each.id for each in useless)
        # Don't reuse the given reason: it explains a replay, not a dismissal.
        repair = f"inventory rejected dismiss {dismissed} --reason 'not repairable by a replay'"
        raise StackError(message, repair=repair)
    if not yes:
        output.errors.print(_WARNING)
        raise typer.Exit(1)
    for identity in replays.replay(ids, reason=reason, actor=getuser()):
        output.errors.print(f"sent again {identity}")


def _with_text_times(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows, with the times in their column `detail` changed to text."""
    return [row | {"detail": with_times(row["detail"])} for row in rows]


def _one(environment: Mapping[str, str], identity: str) -> dict[str, Any]:
    """Return one rejected record with its key and value, each as text and as base64."""
    rows = _rows(environment, _ONE, {"id": identity})
    if not rows:
        message = f"no rejected record {identity!r}: expected an id of `inventory rejected list`"
        raise StackError(message)
    row = rows[0]
    for name in ("key", "value"):
        content = row.pop(name)
        data = None if content is None else bytes(content)
        row[f"{name}_base64"] = None if data is None else base64.b64encode(data).decode()
        row[name] = None if data is None else data.decode("utf-8", errors="replace")
    return row


def _rows(
    environment: Mapping[str, str], statement: str, values: Mapping[str, object]
) -> list[dict[str, Any]]:
    import psycopg  # noqa: PLC0415 -- only verbs that ask Postgres need the driver
    from psycopg.rows import dict_row  # noqa: PLC0415 -- as above

    url = environment["INVENTORY_READ_DATABASE_URL"]
    try:
        with psycopg.connect(url, connect_timeout=5, row_factory=dict_row) as connection:
            return connection.execute(statement, values).fetchall()
    except psycopg.errors.UndefinedTable as error:
        message = "the read model has no tables yet: the stack has not finished its first start"
        raise StackError(message, repair="inventory status") from error

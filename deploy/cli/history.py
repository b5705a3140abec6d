"""Verbs about history: verify, explain, backfill, rejected, fold, bench."""

import sys
from typing import Annotated

import typer

from deploy import output
from deploy.errors import StackError
from deploy.stack.runtime import load_environment

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Location = Annotated[str | None, typer.Option(help="One location only.")]

backfill = typer.Typer(help="Recompute all state from history.", no_args_is_help=True)
rejected = typer.Typer(help="Records that no rule accepts.", no_args_is_help=True)
bench = typer.Typer(help="Measurements.", no_args_is_help=True)
_BEHIND = 2


def register(app: typer.Typer) -> None:
    """Add this module's verbs."""
    for verb in (verify, explain, fold):
        app.command()(verb)
    for name, group in (("backfill", backfill), ("rejected", rejected), ("bench", bench)):
        app.add_typer(group, name=name)


def verify(*, location: Location = None, timeout: float = 120.0, json: Json = False) -> None:
    """Compare workers and read model with Postgres. Exit 1 on a difference, 2 when behind."""
    load_environment()
    from analytics.verify import verify as run  # noqa: PLC0415 -- reads the environment

    report = run(location=location, timeout=timeout)
    if json:
        output.as_json(report.as_json())
    else:
        rows = list(report.as_json().items())
        output.table("verify", ("what", "value"), rows)
    behind = bool(getattr(report, "behind", None))
    raise typer.Exit(_BEHIND if behind else 0 if report.ok else 1)


def explain(
    sku: str,
    *,
    location: Annotated[str, typer.Option(help="Where.")],
    at: Annotated[str | None, typer.Option(help="As of this time, ISO 8601.")] = None,
    json: Json = False,
) -> None:
    """Show why the number is what it is: every fact, in order, with positions."""
    load_environment()
    from analytics.explain import explain as run  # noqa: PLC0415 -- reads the environment

    found = run(sku=sku, location=location, at=at)
    if json:
        output.as_json(found.as_json())
    else:
        output.console.print(str(found))


def fold(
    *, every: Annotated[int | None, typer.Option(help="Print state every N records.")] = None
) -> None:
    """Fold a history file from standard input with the pure rules; no service is needed."""
    from cdc.contracts.history import HistoryError, fold_history  # noqa: PLC0415 -- late on purpose

    if every is not None and every < 1:
        message = f"--every {every}: expected 1 or more"
        raise StackError(message)
    try:
        for line in fold_history(sys.stdin, every=every):
            print(line)
    except HistoryError as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(1) from error

"""Verbs about history: verify, explain, backfill, fold."""

import sys
from typing import Annotated, Any, NoReturn, Protocol

import typer

from deploy import output
from deploy.errors import StackError
from deploy.stack.runtime import load_environment

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Engine = Annotated[str, typer.Option(help="local or spark.")]
Master = Annotated[str | None, typer.Option(help="Spark master; local cores by default.")]
Location = Annotated[str | None, typer.Option(help="One location only.")]

backfill = typer.Typer(help="Recompute all state from history.", no_args_is_help=True)


class Report(Protocol):
    """What a comparison gives."""

    @property
    def exit_code(self) -> int:
        """0 equal, 1 different, 2 not comparable yet."""

    def as_json(self) -> dict[str, Any]:
        """The report for scripts."""


def register(app: typer.Typer) -> None:
    """Add this module's verbs."""
    for verb in (verify, explain, fold):
        app.command()(verb)
    app.add_typer(backfill, name="backfill")


def verify(*, location: Location = None, timeout: float = 120.0, json: Json = False) -> None:
    """Compare workers and read model with Postgres. Exit 1 on a difference, 2 when behind."""
    if timeout <= 0:
        message = f"--timeout {timeout:g}: expected seconds above 0"
        raise StackError(message)
    load_environment()
    from analytics.verify import verify as run  # noqa: PLC0415 -- reads the environment

    _report("verify", run(location=location, timeout=timeout), json=json)


def _report(title: str, report: Report, *, json: bool) -> NoReturn:
    """Print a report and end with its exit code."""
    if json:
        output.as_json(report.as_json())
    else:
        output.table(title, ("what", "value"), list(report.as_json().items()))
    raise typer.Exit(report.exit_code)


def explain(
    sku: str,
    *,
    location: Annotated[str, typer.Option(help="Where.")],
    at: Annotated[str | None, typer.Option(help="As of this time, ISO 8601.")] = None,
    json: Json = False,
) -> None:
    """Show why the number is what it is: every fact, in order, with positions."""
    load_environment()
    from analytics import explain as explanation  # noqa: PLC0415 -- reads the environment

    try:
        found = explanation.explain(sku=sku, location=location, at=at)
    except explanation.UnknownItem as error:
        raise StackError(str(error)) from error
    if json:
        output.as_json(found.as_json())
    else:
        output.plain(found.as_text())


@backfill.command("run")
def backfill_run(
    *,
    engine: Engine = "local",
    until: Annotated[str | None, typer.Option(help="An earlier run's history, or last.")] = None,
    buckets: Annotated[int, typer.Option(help="Parts of each partition.")] = 1,
    master: Master = None,
    json: Json = False,
) -> None:
    """Recompute every key from the first record on, with the same rules."""
    _check_engine(engine)
    if buckets < 1:
        message = f"--buckets {buckets}: expected 1 or more"
        raise StackError(message)
    load_environment()
    from analytics.backfill import run as backfills  # noqa: PLC0415 -- reads the environment
    from analytics.engines.spark import DEFAULT_MASTER  # noqa: PLC0415 -- late like its user

    chosen = master or DEFAULT_MASTER
    report = backfills.run(engine, until, buckets=buckets, progress=_units, master=chosen)
    _report_only("backfill run", report.as_json(), json=json)


@backfill.command("verify")
def backfill_verify(*, engine: Engine = "local", master: Master = None, json: Json = False) -> None:
    """Compare a recomputation with the live workers at the same offsets, byte for byte."""
    _check_engine(engine)
    load_environment()
    from analytics.backfill import verify as comparison  # noqa: PLC0415 -- reads the environment
    from analytics.engines.spark import DEFAULT_MASTER  # noqa: PLC0415 -- late like its user

    report = comparison.verify(engine, progress=_units, master=master or DEFAULT_MASTER)
    _report("backfill verify", report, json=json)


@backfill.command("status")
def backfill_status(*, json: Json = False) -> None:
    """List archive and runs."""
    load_environment()
    from analytics.backfill import status as runs  # noqa: PLC0415 -- reads the environment

    _report_only("backfill status", runs.status(), json=json)


def _report_only(title: str, found: dict[str, Any], *, json: bool) -> None:
    if json:
        output.as_json(found)
    else:
        output.table(title, ("what", "value"), list(found.items()))


def _check_engine(engine: str) -> None:
    if engine not in ("local", "spark"):
        message = f"--engine {engine!r}: expected local or spark"
        raise StackError(message)


def _units(done: int, planned: int, name: str) -> None:
    output.errors.print(f"{done} of {planned} units: {name}")


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
        raise typer.Exit(2) from error

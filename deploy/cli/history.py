"""Verbs about history: verify, explain, sales, backfill, fold."""

import sys
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, NoReturn, Protocol

import typer

from deploy import output
from deploy.cli import given
from deploy.errors import StackError
from deploy.stack.runtime import load_environment

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Engine = Annotated[str, typer.Option(help="local or spark.")]
Master = Annotated[str | None, typer.Option(help="Spark master; local cores by default.")]
Timeout = Annotated[float, typer.Option(help="Seconds to wait for what is behind.")]
Location = Annotated[str | None, typer.Option(help="One location only.")]
Sku = Annotated[str, typer.Argument(metavar="SKU", help="Item code, such as 85123A; case matters.")]
Where = Annotated[str, typer.Option(metavar="LOCATION", help="Store or warehouse, such as UCI.")]

_RUN_COLUMNS: Final = (
    "run",
    "logic_revision",
    "units_finished",
    "units",
    "finished",
    "keys",
    "records",
    "seconds",
    "digest",
)
ENGINES: Final = ("local", "spark")
MOST_HOPS: Final = 1008  # a week of windows, as far back as the windows read go

backfill = typer.Typer(help="Recompute all state from history.", no_args_is_help=True)


class Report(Protocol):
    """What a comparison gives."""

    @property
    def exit_code(self) -> int:
        """0 equal, 1 different, 2 not comparable yet."""

    def as_json(self) -> dict[str, Any]:
        """The report for scripts."""


class Printed(Protocol):
    """What a question about one item gives."""

    def as_json(self) -> dict[str, Any]:
        """The answer for scripts."""

    def as_text(self) -> str:
        """The answer for people."""


def register(app: typer.Typer) -> None:
    """Add this module's verbs."""
    for verb in (verify, explain, sales, fold):
        app.command()(verb)
    app.add_typer(backfill, name="backfill")


def verify(*, location: Location = None, timeout: Timeout = 120.0, json: Json = False) -> None:
    """Compare workers and read model with Postgres. Exit 1 on a difference, 2 when behind."""
    given.seconds("--timeout", timeout, least=1)
    load_environment()
    from analytics.verify import verify as run  # noqa: PLC0415 -- reads the environment

    _report("verify", run(location=location, timeout=timeout), json=json)


def _report(title: str, report: Report, *, json: bool) -> NoReturn:
    """Print a report and end with its exit code."""
    if json:
        output.as_json(report.as_json())
    else:
        output.table(title, ("what", "value"), list(_rows(report.as_json())))
    raise typer.Exit(report.exit_code)


def _rows(found: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """A report as rows of names and plain values: what is nested gets rows of its own."""
    for name, content in found.items():
        if isinstance(content, dict):
            yield from ((f"{name}, {inner}", value) for inner, value in _rows(content))
        elif isinstance(content, list):
            yield from ((name, _in_one_line(entry)) for entry in content)
        else:
            yield name, content


def _in_one_line(entry: object) -> str:
    if isinstance(entry, dict):
        return ", ".join(f"{name} {value}" for name, value in _rows(entry))
    return str(entry)


def explain(
    sku: Sku,
    *,
    location: Where,
    at: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="The explanation of this business time, ISO 8601, UTC."),
    ] = None,
    json: Json = False,
) -> None:
    """Show why a number is what it is: every fact in order, then every line of the arithmetic.

    Lines lead from the last count to on-hand, base position, reorder point, order quantity and
    price; with --json each is a signed step, a sum or a note, with row, person and position.
    """
    load_environment()
    from analytics import explain as explanation  # noqa: PLC0415 -- reads the environment

    try:
        found = explanation.explain(sku=sku, location=location, at=at)
    except explanation.UnknownItem as error:
        raise StackError(str(error)) from error
    _print(found, json=json)


def sales(
    sku: Sku,
    *,
    location: Where,
    hops: Annotated[int, typer.Option(help="How many of each span, ten minutes apart.")] = 6,
    json: Json = False,
) -> None:
    """Show units sold in the last hour, 24 hours and 7 days, and the selling sessions."""
    if not 1 <= hops <= MOST_HOPS:
        message = f"--hops {hops}: expected 1 to {MOST_HOPS}"
        raise StackError(message)
    load_environment()
    from analytics import sales as views  # noqa: PLC0415 -- reads the environment

    try:
        found = views.sales(sku, location, count=hops)
    except views.UnknownItem as error:
        raise StackError(str(error)) from error
    _print(found, json=json)


def _print(found: Printed, *, json: bool) -> None:
    if json:
        output.as_json(found.as_json())
    else:
        output.plain(found.as_text())


@backfill.command("run")
def backfill_run(
    *,
    engine: Engine = "local",
    until: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="The history of an earlier run, by name, or last."),
    ] = None,
    buckets: Annotated[int, typer.Option(help="Parts of each partition.")] = 1,
    master: Master = None,
    json: Json = False,
) -> None:
    """Recompute every key from the first record on, with the same rules."""
    given.one_of("--engine", engine, ENGINES)
    given.whole("--buckets", buckets)
    load_environment()
    from analytics.backfill import run as backfills  # noqa: PLC0415 -- reads the environment
    from analytics.engines.spark import DEFAULT_MASTER  # noqa: PLC0415 -- late like its user

    chosen = master or DEFAULT_MASTER
    report = backfills.run(engine, until, buckets=buckets, progress=_units, master=chosen)
    _report_only("backfill run", report.as_json(), json=json)


@backfill.command("verify")
def backfill_verify(*, engine: Engine = "local", master: Master = None, json: Json = False) -> None:
    """Compare a recomputation with the live workers at the same offsets, byte for byte."""
    given.one_of("--engine", engine, ENGINES)
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

    found = runs.status()
    if json:
        output.as_json(found)
        return
    output.table("archive", ("what", "value"), list(_rows(found["archive"])))
    output.table(
        f"{len(found['runs'])} runs, newest first",
        _RUN_COLUMNS,
        [[run.get(name) for name in _RUN_COLUMNS] for run in found["runs"]],
    )


def _report_only(title: str, found: dict[str, Any], *, json: bool) -> None:
    if json:
        output.as_json(found)
    else:
        output.table(title, ("what", "value"), list(_rows(found)))


def _units(done: int, planned: int, name: str) -> None:
    output.errors.print(f"{done} of {planned} units: {name}")


def fold(
    *, every: Annotated[int | None, typer.Option(help="Print state every N records.")] = None
) -> None:
    """Fold a history from standard input with the pure rules; no service is needed.

    Use: inventory fold < history.jsonl. One JSON record a line: offset, table, op, key, before,
    after, lsn, commit_us; times in epoch microseconds, offsets rising. Each record gives a line
    with its verdict and outputs, each key a line with its state at the end. A line that is no
    record ends with its number, the reason and exit code 2.
    """
    from cdc.contracts.history import HistoryError, fold_history  # noqa: PLC0415 -- late on purpose

    given.whole("--every", every)
    if sys.stdin.isatty():
        output.errors.print("reading records from the terminal, end with Ctrl-D")
    lines = 0
    try:
        for line in fold_history(sys.stdin, every=every):
            print(line)
            lines += 1
    except HistoryError as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(2) from error
    if not lines:
        print("no record on standard input, nothing to fold", file=sys.stderr)

"""Commands about history: verify, explain, sales, fold."""

import sys
from collections.abc import Iterator
from typing import Annotated, Any, Final, Protocol

import typer

from deploy import output
from deploy.cli import option_checks
from deploy.cli.backfill_options import Archive, use_archive
from deploy.cli.reports import print_and_exit
from deploy.errors import StackError
from deploy.stack.runtime import load_environment

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Timeout = Annotated[
    float, typer.Option(help="Seconds to wait until workers and projector have caught up.")
]
Location = Annotated[str | None, typer.Option(help="Compare one location only.")]
Sku = Annotated[
    str,
    typer.Argument(metavar="SKU", help="Item code, such as 85123A. Upper and lower case differ."),
]
Where = Annotated[str, typer.Option(metavar="LOCATION", help="Store or warehouse, such as UCI.")]

MOST_HOPS: Final = 1008  # windows of ten minutes in a week


class Printable(Protocol):
    """A report on one item that can be printed."""

    def as_json(self) -> dict[str, Any]:
        """Return the report for scripts."""

    def as_text(self) -> str:
        """Return the report as text for a terminal."""


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    for verb in (verify, explain, sales, fold):
        app.command()(verb)


def verify(*, location: Location = None, timeout: Timeout = 120.0, json: Json = False) -> None:
    """Compare workers and read model with Postgres.

    Exit 1 if a key or window differs. Exit 2 if there is no result, because no stack runs, or
    because workers or projector are behind.
    """
    option_checks.check_seconds("--timeout", timeout, least=1)
    try:
        load_environment()
    except StackError as error:
        error.exit_code = 2  # exit code 1 would mean a difference
        raise
    from analytics.verify import verify as run  # noqa: PLC0415 -- reads the environment

    print_and_exit("verify", run(location=location, timeout=timeout), json=json)


def explain(
    sku: Sku,
    *,
    location: Where,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Explain the numbers at this business time, ISO 8601, UTC."
        ),
    ] = None,
    archive: Archive = "",
    json: Json = False,
) -> None:
    """Explain an item's numbers: every fact in order, then every line of the arithmetic.

    The lines lead from the last count to on-hand, base position, reorder point, order quantity and
    price. With --json, each line also has its table row and the person who wrote the row. Each fact
    also has its offsets in the log.
    """
    use_archive(archive)
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
    hops: Annotated[
        int,
        typer.Option(
            help="Number of rows for each of the lengths hour, 24 hours and 7 days. A row has the"
            " units sold in one period of its length. Successive periods end ten minutes apart."
        ),
    ] = 6,
    json: Json = False,
) -> None:
    """Show the units of an item sold in the last hour, 24 hours and 7 days, and its sessions.

    A session is a series of sales. It ends when the item has not been sold for 30 minutes.
    """
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


def _print(found: Printable, *, json: bool) -> None:
    if json:
        output.as_json(found.as_json())
    else:
        output.plain(found.as_text())


def fold(
    *,
    every: Annotated[
        int | None, typer.Option(help="Print the state after every N records.")
    ] = None,
) -> None:
    """Fold a history from standard input with the rules. Needs no service.

    Use: inventory fold < history.jsonl. Each line is one JSON record with offset, table, op, key,
    before, after, lsn and commit_us. Times are microseconds since 1970 UTC. Each offset is larger
    than the one before.

    The command prints verdict and outputs of each record, then the final state of each key. At an
    invalid line, it prints the line number and the reason, and ends with exit code 2.
    """
    from cdc.contracts.history import fold_history  # noqa: PLC0415 -- loads the rules
    from cdc.contracts.history_records import HistoryError  # noqa: PLC0415 -- loads the rules

    option_checks.check_int("--every", every)
    if sys.stdin.isatty():
        output.errors.print("reading records from the terminal, end with Ctrl-D")
    lines = 0
    try:
        for line in fold_history(_input_lines(), every=every):
            print(line)
            lines += 1
    except HistoryError as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(2) from error
    if not lines:
        print("no record on standard input, nothing to fold", file=sys.stderr)


def _input_lines() -> Iterator[str]:
    """Yield the lines of standard input.

    Raises:
        HistoryError: a line is not UTF-8. JSON is always UTF-8, in any locale.
    """
    from cdc.contracts.history_records import HistoryError  # noqa: PLC0415 -- loads the rules

    for number, line in enumerate(sys.stdin.buffer, 1):
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            raise HistoryError(number, f"not UTF-8: {error.reason}") from error

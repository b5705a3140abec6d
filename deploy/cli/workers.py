"""Commands of the stream workers: list, scale, stop, start, restart, and query a key."""

import time
from typing import Annotated, Any, Final
from urllib.parse import quote, urlencode

import typer

from cdc.contracts.times import time_text
from deploy import output
from deploy.cli import option_checks
from deploy.errors import StackError
from deploy.stack.home import Home, default_home
from deploy.stack.requested import REPAIR
from deploy.stack.runtime import load_environment
from inventory.explain.formatting import counted_text
from inventory.log.validation import is_key

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_COLUMNS: Final = (
    "worker",
    "state",
    "pid",
    "crashed",
    "asked",
    "partitions",
    "keys",
    "lag",
    "age",
    "address",
)
# Columns for a terminal of less than 120 characters. A wider one, and --json, show all columns.
_NARROW: Final = ("worker", "state", "crashed", "partitions", "lag", "age")
_WIDE_CHARS: Final = 120
_SECOND_US: Final = 1_000_000

workers = typer.Typer(
    help="Stream workers: list, scale, stop, start and restart them. Without a command: list."
)


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.add_typer(workers, name="workers")
    app.command()(query)


def _home() -> Home:
    return Home(default_home())


@workers.callback(invoke_without_command=True)
def workers_list(context: typer.Context, *, json: Json = False) -> None:
    """List workers with their partitions, their lag and the age of their states.

    A terminal that is at least 120 characters wide shows all columns.
    """
    if context.invoked_subcommand is not None:
        return
    from deploy.stack import worker_queries  # noqa: PLC0415 -- loads what every part needs to run

    found = worker_queries.workers(_home())
    if json:
        output.as_json(found)
        return
    shown = _COLUMNS if output.console.width >= _WIDE_CHARS else _NARROW
    cells = [dict(zip(_COLUMNS, _row(row), strict=True)) for row in found]
    output.table("", shown, [[row[column] for column in shown] for row in cells])


def _row(row: dict[str, Any]) -> tuple[object, ...]:
    held = ", ".join(map(str, row["partitions"])) or "none"
    restoring = len(row["partitions"]) - row["running"]
    return (
        row["worker"],
        row["state"],
        row["pid"],
        row["restarts"],
        row["asked_restarts"],
        f"{held} ({restoring} restoring)" if restoring else held,
        row["keys"],
        f"{row['lag_records']}, {row['lag_seconds']:.1f} s",
        _age_text(row["oldest_as_of_us"]),
        (row["address"] or "").removeprefix("http://"),
    )


@workers.command()
def scale(
    count: Annotated[int, typer.Argument(metavar="N", help="Number of workers, 1 to 12.")],
) -> None:
    """Set the number of workers. Meanwhile, the remaining workers continue to fold."""
    from deploy.stack import service_commands  # noqa: PLC0415 -- loads what every part needs to run

    seconds = service_commands.scale(_home(), count)
    output.console.print(
        f"{counted_text(count, 'worker serves', 'workers serve')} all partitions after "
        f"{seconds:.1f} s"
    )


@workers.command()
def stop(name: Annotated[str, typer.Argument(help="Name of a worker, like worker-2.")]) -> None:
    """Stop one worker until `workers start`. The others take over its partitions."""
    from deploy.stack import service_commands  # noqa: PLC0415 -- loads what every part needs to run

    seconds = service_commands.stop(_home(), name)
    output.console.print(f"{name} stopped; the others serve all partitions after {seconds:.1f} s")


@workers.command()
def start(name: Annotated[str, typer.Argument(help="Name of a worker, like worker-2.")]) -> None:
    """Start a stopped worker. It gets its share of the partitions from the other workers."""
    from deploy.stack import service_commands  # noqa: PLC0415 -- loads what every part needs to run

    seconds = service_commands.start(_home(), name)
    output.console.print(f"{name} runs; workers serve all partitions after {seconds:.1f} s")


@workers.command()
def restart(
    name: Annotated[str | None, typer.Argument(help="Name of a worker, like worker-2.")] = None,
    *,
    rolling: Annotated[
        bool, typer.Option("--rolling", help="Restart all workers, one after another.")
    ] = False,
) -> None:
    """Restart one worker. With --rolling, restart all workers one after another.

    Each restart begins when the previous worker serves its partitions again.
    """
    if rolling == (name is not None):
        message = "expected the name of a worker, or --rolling for all; nothing was restarted"
        raise StackError(message)
    from deploy.stack import service_commands  # noqa: PLC0415 -- loads what every part needs to run

    if name is None:
        service_commands.restart_rolling(_home(), output.console.print)
    else:
        output.console.print(f"{name} restarted in {service_commands.restart(_home(), name):.1f} s")


@workers.command()
def rebuild(
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Confirm the deletion.")] = False,
    timeout: Annotated[float, typer.Option(help="Time limit of the replay in seconds.")] = 600.0,
    json: Json = False,
) -> None:
    """Delete changelogs and snapshots, and compute all states again from stock.events.

    Exit 1 if the state of a key differs from its former state.
    """
    option_checks.check_seconds("--timeout", timeout, least=1)
    home = _home()
    load_environment(home)
    if not yes:
        message = (
            "changelogs, snapshots and group offsets of all workers would be deleted; "
            "nothing was deleted"
        )
        raise StackError(message, repair=REPAIR)
    from cdc.settings import Connections  # noqa: PLC0415 -- reads the environment
    from deploy.rebuild import rebuild as run  # noqa: PLC0415 -- as above

    found = run(home, Connections(), timeout_s=timeout, report=output.errors.print)
    if json:
        output.as_json(found.as_json())
    else:
        output.table("rebuilt", ("what", "value"), list(found.as_json().items()))
    raise typer.Exit(found.exit_code)


def query(
    key: Annotated[
        str, typer.Argument(metavar="KEY", help="LOCATION|SKU, in quotes because of the shell.")
    ],
    *,
    windows: Annotated[
        bool, typer.Option("--windows", help="Print the sales windows, too.")
    ] = False,
    since: Annotated[
        int | None,
        typer.Option(
            "--from",
            help="Only windows that start at this time or later, in µs since 1970 UTC.",
        ),
    ] = None,
    until: Annotated[
        int | None,
        typer.Option(
            "--to", help="Only windows that start before this time, in µs since 1970 UTC."
        ),
    ] = None,
    wait: Annotated[float, typer.Option(help="Seconds to wait while a worker restores.")] = 2.0,
    json: Json = False,
) -> None:
    """Query the current state of a key from a worker. Exit 1 if no worker answers."""
    option_checks.check_seconds("--wait", wait)
    if not is_key(key):
        message = (
            f"KEY {key!r}: expected LOCATION|SKU, in quotes for the shell, such as 'UCI|85123A'"
        )
        raise StackError(message)
    from deploy.stack import worker_queries  # noqa: PLC0415 -- loads what every part needs to run

    settings = worker_queries.connections(_home())
    place = quote(key, safe="")
    found = worker_queries.query(settings, f"/iq/v1/store/on-hand/{place}", wait)
    if windows:
        span = {"from": since, "to": until}
        asked = urlencode({name: at for name, at in span.items() if at is not None})
        found |= worker_queries.query(settings, f"/iq/v1/store/sales-windows/{place}?{asked}", wait)
    if json:
        output.as_json(found)
        return
    _show(found)


def _show(found: dict[str, Any]) -> None:
    position = found["position"]
    place = f"{position['partition']}@{position['offset']}, generation {position['generation']}"
    rows = [
        ("on hand", found["on_hand_units"]),
        ("available to sell", found["available_to_sell_units"]),
        ("as of", f"{time_text(found['as_of_us'])} ({_age_text(found['as_of_us'])} ago)"),
        ("behind", f"{counted_text(found['lag_records'], 'record')}, {found['lag_seconds']:.1f} s"),
        ("position", place),
        ("worker", f"{found['worker']}, {found['state']}"),
        ("logic revision", found["logic_revision"]),
    ]
    output.table(found["inv_key"], ("", ""), rows)
    if "windows" in found:
        columns = ("start_us", "sold_units", "returned_units", "revenue_minor", "window_revision")
        cells = [[row[name] for name in columns] for row in found["windows"]]
        output.table("sales windows", columns, cells)


def _age_text(at_us: int | None) -> str:
    if at_us is None:
        return ""
    return f"{max(0, time.time_ns() // 1000 - at_us) / _SECOND_US:.1f} s"

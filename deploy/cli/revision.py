"""Verbs of logic revisions: list, start, compare, promote, retire."""

import getpass
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from deploy import output
from deploy.cli import given
from deploy.errors import StackError
from deploy.stack.home import Home, default_home
from deploy.stack.runtime import load_environment

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Number = Annotated[int, typer.Argument(metavar="N", min=1, help="Logic revision, 1 or more.")]
Timeout = Annotated[
    float, typer.Option(min=1, max=given.LONGEST_S, help="Seconds for both to pass one place.")
]
_COLUMNS: Final = (
    *("revision", "decides", "workers", "records_behind", "group", "outputs"),
    "changes",
)

revision = typer.Typer(help="Run other rules beside, compare and switch.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add this module's verbs."""
    app.add_typer(revision, name="revision")


def _settings() -> Any:  # noqa: ANN401 -- its class is imported only by commands that need it
    load_environment()
    from cdc.settings import Connections  # noqa: PLC0415 -- reads the environment

    return Connections()


@revision.command("list")
def list_revisions(*, json: Json = False) -> None:
    """Show which revision decides, where workers run and how far each is behind."""
    settings = _settings()
    from deploy.revisions.known import known  # noqa: PLC0415 -- asks the broker

    rows = [asdict(entry) for entry in known(Home(default_home()), settings)]
    if json:
        output.as_json(rows)
    else:
        output.table("", _COLUMNS, [[row[name] for name in _COLUMNS] for row in rows])


@revision.command()
def start(
    number: Number,
    *,
    code: Annotated[Path, typer.Option(help="Tree with the code of that revision.")],
    workers: Annotated[int, typer.Option(min=1, max=12, help="Workers of the shadow.")] = 1,
    python: Annotated[str, typer.Option(help="Interpreter with its packages.")] = "",
) -> None:
    """Start workers of another revision beside the stack; nothing they decide reaches a desk.

    They replay stock.events from the beginning, or go on where they were. Returns when ready.
    """
    load_environment()
    from deploy.revisions import shadow  # noqa: PLC0415 -- starts processes
    from inventory.revision import LOGIC_REVISION  # noqa: PLC0415 -- as above

    if number == LOGIC_REVISION:
        message = f"logic revision {number} is that of this stack's own workers"
        raise StackError(message, repair="inventory revision list")
    chosen = shadow.Code(code.resolve(), given.interpreter(python))
    beside = shadow.start(Home(default_home()), number, chosen, workers)
    output.console.print(f"logic revision {number} runs beside; its logs are in {beside.logs}")


@revision.command()
def compare(
    number: Number,
    *,
    states: Annotated[bool, typer.Option(help="Compare every key's state as well.")] = False,
    timeout: Timeout = 300.0,
    json: Json = False,
) -> None:
    """List what a revision decides differently. Exit 1 on a difference, as verify does."""
    settings = _settings()
    from deploy.revisions import compare as comparing  # noqa: PLC0415 -- reads topics
    from deploy.revisions.decisions import Decisions  # noqa: PLC0415 -- as above
    from deploy.revisions.promote import active  # noqa: PLC0415 -- as above
    from deploy.revisions.states import compare_states  # noqa: PLC0415 -- as above

    former = active(settings)
    if former is None or former == number:
        message = f"logic revision {number} can't be compared with {former}, which decides"
        raise StackError(message, repair="inventory revision list")
    sides = Decisions(settings, former), Decisions(settings, number)
    found = comparing.compare(settings, *sides, timeout)
    report = found.as_json()
    differing = len(found.differences)
    if states:
        whole = compare_states(settings, former, number, dict(found.barrier), timeout)
        report["states"] = whole.as_json()
        differing += len(whole.differing)
    _show(report, json=json)
    raise typer.Exit(1 if differing else 0)


@revision.command()
def promote(
    number: Number,
    *,
    accept: Annotated[int, typer.Option(min=0, help="Differing keys that were looked at.")] = 0,
    without_comparison: Annotated[
        bool, typer.Option(help="The former revision's workers run no more.")
    ] = False,
    by: Annotated[str, typer.Option(help="Who decides this; you by default.")] = "",
    timeout: Timeout = 300.0,
    json: Json = False,
) -> None:
    """Compare, then let a revision decide: its needs stand on the desks, all others are closed.

    Refused while it is behind, or while it differs in more keys than are accepted. The way back is
    to promote the former one.
    """
    settings = _settings()
    from deploy.revisions.promote import promote as switch  # noqa: PLC0415 -- reads topics

    found = switch(
        settings,
        number,
        accept=None if without_comparison else accept,
        by=by or getpass.getuser(),
        timeout_s=timeout,
    )
    _show({"revision": number} if found is None else found.as_json(), json=json)
    if not json:
        output.console.print(f"logic revision {number} decides now")


@revision.command()
def retire(
    number: Number,
    *,
    delete: Annotated[bool, typer.Option(help="Its topics, group and files go too.")] = False,
) -> None:
    """End the workers of a revision that doesn't decide."""
    settings = _settings()
    from deploy.revisions.retire import retire as end  # noqa: PLC0415 -- ends processes

    end(Home(default_home()), settings, number, delete=delete)
    gone = "workers, topics, group and files are gone" if delete else "its workers are stopped"
    output.console.print(f"logic revision {number}: {gone}")


def _show(report: dict[str, Any], *, json: bool) -> None:
    if json:
        output.as_json(report)
        return
    differences = report.pop("differences", [])
    refused = report.pop("refused_records", [])
    report.pop("barrier", None)
    report |= {f"states, {name}": said for name, said in report.pop("states", {}).items()}
    output.table("", ("what", "value"), list(report.items()))
    if differences:
        rows = [
            (d["kind"], d["inv_key"], d["how"], ", ".join(d["fields"]), d["former"], d["fresh"])
            for d in differences
        ]
        output.table("", ("kind", "key", "how", "differs in", "former", "new"), rows)
    if refused:
        output.table(
            "Records that are no decisions", ("place and reason",), [(r,) for r in refused]
        )

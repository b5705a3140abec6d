"""Subcommands of logic revisions: list, start, compare, promote, retire."""

import getpass
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from deploy import output
from deploy.cli import option_checks
from deploy.cli.backfill_options import Json, Python
from deploy.cli.revision_output import show_comparison, show_switch
from deploy.errors import StackError
from deploy.stack.home import Home, default_home
from deploy.stack.runtime import load_environment

Number = Annotated[
    int, typer.Argument(metavar="N", min=1, help="Number of the logic revision, 1 or more.")
]
Timeout = Annotated[
    float,
    typer.Option(
        min=1,
        max=option_checks.LONGEST_S,
        help="Seconds to wait until both revisions have reached the same offsets.",
    ),
]
Approval = Annotated[
    str,
    typer.Option(help="Digest of the approved difference; `backfill reviews` lists all digests."),
]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=12,
        help="Number of workers. If another number runs, the command replaces those workers. "
        "Default: the number that runs, or else 1.",
    ),
]
SwitchedBy = Annotated[
    str,
    typer.Option(help="Name of the person who switches, for the record. Default: your account."),
]
_DEFAULT_ROWS: Final = 50
_COLUMNS: Final = (
    *("revision", "decides", "workers", "records_behind", "group", "outputs"),
    "changes",
)

revision = typer.Typer(
    help="Run another logic revision beside the stack, compare it, switch to it.",
    no_args_is_help=True,
)


def register(app: typer.Typer) -> None:
    """Add this module's subcommands."""
    app.add_typer(revision, name="revision")


def _settings() -> Any:  # noqa: ANN401 -- its class is imported only by commands that need it
    load_environment()
    from cdc.settings import Connections  # noqa: PLC0415 -- reads the environment

    return Connections()


@revision.command("list")
def list_revisions(*, json: Json = False) -> None:
    """List logic revisions with their workers and lag in records. Mark the deciding revision."""
    settings = _settings()
    from deploy.revisions.listing import known_revisions  # noqa: PLC0415 -- asks the broker

    rows = [asdict(entry) for entry in known_revisions(Home(default_home()), settings)]
    if json:
        output.as_json(rows)
    else:
        output.table("", _COLUMNS, [[row[name] for name in _COLUMNS] for row in rows])


@revision.command()
def start(
    number: Number,
    *,
    code: Annotated[Path, typer.Option(help="Source tree of that revision.")],
    workers: Workers = None,
    python: Python = "",
) -> None:
    """Start workers of another revision beside the stack. Their decisions reach no page.

    The workers fold stock.events from the beginning, or from their last offsets if they ran before.
    The command returns when the workers are ready.
    """
    load_environment()
    from deploy.revisions import shadow  # noqa: PLC0415 -- starts processes
    from inventory.revision import LOGIC_REVISION  # noqa: PLC0415 -- as above

    if number == LOGIC_REVISION:
        message = (
            f"this stack's own workers run logic revision {number} already; nothing was started"
        )
        raise StackError(message, repair="inventory revision list")
    chosen = shadow.Code(code.resolve(), option_checks.interpreter(python))
    try:
        shadow_home = shadow.start(Home(default_home()), number, chosen, workers)
    except shadow.OtherRules as error:
        raise _kept_if_deciding(error, number) from error
    output.console.print(
        f"logic revision {number} runs beside the stack; its logs are in {shadow_home.logs}"
    )


def _kept_if_deciding(error: StackError, number: int) -> StackError:
    """Return `error`, but with another repair if revision `number` decides.

    The repair in `error` deletes the state of the revision. The deciding revision still needs its
    state.
    """
    from deploy.revisions.promote import active  # noqa: PLC0415 -- opens a connection

    if active(_settings()) != number:
        return error
    message = (
        f"{error}; logic revision {number} decides, so its state is kept: give these rules another "
        "logic revision"
    )
    return StackError(message, repair="inventory revision list")


@revision.command()
def compare(
    number: Number,
    *,
    states: Annotated[bool, typer.Option(help="Compare the state of every key, too.")] = False,
    limit: Annotated[
        int, typer.Option(min=0, help="Number of differences to list in full.")
    ] = _DEFAULT_ROWS,
    timeout: Timeout = 300.0,
    json: Json = False,
) -> None:
    """List decisions that differ between a revision and the deciding one. Exit 1 if one differs."""
    settings = _settings()
    from deploy.revisions import compare as comparing  # noqa: PLC0415 -- reads topics
    from deploy.revisions.decisions import Decisions  # noqa: PLC0415 -- as above
    from deploy.revisions.promote import active  # noqa: PLC0415 -- as above
    from deploy.revisions.states import compare_states  # noqa: PLC0415 -- as above

    former = active(settings)
    if former is None or former == number:
        message = (
            f"expected a logic revision other than the deciding one ({former or 'none yet'}), got "
            f"{number}; nothing was compared"
        )
        raise StackError(message, repair="inventory revision list")
    sides = Decisions(settings, former), Decisions(settings, number)
    found = comparing.compare(settings, *sides, timeout)
    report = found.as_json(limit)
    differing = len(found.differences)
    if states:
        states_found = compare_states(settings, former, number, dict(found.barrier), timeout)
        report["states"] = states_found.as_json()
        differing += len(states_found.differing)
    show_comparison(report, json=json)
    raise typer.Exit(1 if differing else 0)


@revision.command()
def promote(
    number: Number,
    *,
    approval: Approval = "",
    without_comparison: Annotated[
        bool, typer.Option(help="Don't compare. Allowed if no worker of the former revision runs.")
    ] = False,
    by: SwitchedBy = "",
    timeout: Timeout = 300.0,
    json: Json = False,
) -> None:
    """Compare a revision with the deciding one, then make it the deciding one.

    Afterwards, pages show the proposals of this revision, and the proposals of the former revision
    are closed. `backfill rollback` switches back.

    The command switches nothing if this revision is behind, or if more unapproved keys differ
    than the approval allows. In the second case, the approval also lapses. Without --approval no
    key may differ.
    """
    settings = _settings()
    from deploy.revisions.promote import SwitchRequest  # noqa: PLC0415 -- reads topics

    request = SwitchRequest(
        number,
        by or getpass.getuser(),
        timeout,
        approval=approval,
        without_comparison=without_comparison,
    )
    show_switch(settings, request, json=json)


@revision.command()
def retire(
    number: Number,
    *,
    delete: Annotated[
        bool,
        typer.Option(help="Also delete the topics, consumer group and files of this revision."),
    ] = False,
) -> None:
    """Stop the workers of a revision that isn't the deciding one."""
    settings = _settings()
    from deploy.revisions.retire import retire as end  # noqa: PLC0415 -- ends processes

    end(Home(default_home()), settings, number, delete=delete)
    deleted = "; its topics, consumer group and files are deleted" if delete else ""
    output.console.print(f"workers of logic revision {number} are stopped{deleted}")

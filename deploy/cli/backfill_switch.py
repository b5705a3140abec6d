"""`inventory backfill shadow`, `cutover`, `rollback`: compare a revision, switch to it and back."""

import getpass
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from deploy import output
from deploy.cli import backfill_options as options
from deploy.cli import option_checks
from deploy.cli.backfill_group import add_command
from deploy.cli.revision import Approval, Number, SwitchedBy, Timeout, Workers
from deploy.cli.revision_output import show_switch
from deploy.errors import StackError
from deploy.stack.home import Home, default_home
from deploy.stack.runtime import load_environment
from inventory.explain.formatting import counted_text

if TYPE_CHECKING:
    from cdc.settings import Connections
    from deploy.revisions.compare import Comparison

_DEFAULT_EVERY_S: Final = 10.0
RevisionCode = Annotated[
    Path | None,
    typer.Option(
        "--code",
        help="Source tree of the revision, to start its workers. Default: start no workers.",
    ),
]


def register(_app: typer.Typer) -> None:
    """Add the commands to `inventory backfill`."""
    for each in (shadow, cutover, rollback):
        add_command(each)


def shadow(
    number: Number,
    *,
    code: RevisionCode = None,
    workers: Workers = None,
    python: options.Python = "",
    approval: Approval = "",
    every: Annotated[float, typer.Option(help="Seconds between two comparisons.")] = (
        _DEFAULT_EVERY_S
    ),
    rounds: Annotated[
        int | None, typer.Option(min=1, help="Number of comparisons. Default: until Ctrl-C.")
    ] = None,
    timeout: Timeout = 300.0,
    json: options.Json = False,
) -> None:
    """Compare the decisions of another revision's workers with those of the stack, again and again.

    With --code, the command first starts workers of the revision. If some run already, they
    continue. But if --workers gives another number, the command replaces them. No page shows the
    decisions of these workers. Ctrl-C ends the comparison, but not the workers. Exit code
    1: a key differed in the last comparison.

    With --approval, keys of the approved difference don't count. Then the command also ends if a
    worker runs other rules than the approved ones, for example after an edit of its sources.
    """
    option_checks.check_seconds("--every", every)
    load_environment()
    from cdc.settings import Connections  # noqa: PLC0415 -- reads the environment
    from deploy.revisions import shadow as shadows  # noqa: PLC0415 -- starts processes

    home, settings = Home(default_home()), Connections()
    _refuse_deciding(settings, number)
    if code is not None:
        options.refuse_other_project(code)
        chosen = shadows.Code(code.resolve(), option_checks.interpreter(python))
        shadows.start(home, number, chosen, workers)
    unapproved, done = 0, 0
    while rounds is None or done < rounds:
        if done:
            time.sleep(every)
        unapproved, line = _compared(settings, number, approval, timeout)
        output.as_json(line) if json else output.console.print(_text(line))
        done += 1
    raise typer.Exit(1 if unapproved else 0)


def cutover(
    number: Number,
    *,
    approval: Approval = "",
    by: SwitchedBy = "",
    timeout: Timeout = 300.0,
    json: options.Json = False,
) -> None:
    """Switch to a revision whose difference a second person approved.

    The command first compares both revisions at the present end of the log. If more unapproved keys
    differ than the approval allows, the approval lapses and nothing is switched. Without --approval
    no key may differ.

    After the switch, pages show the proposals of this revision, and the proposals of the former
    revision are closed. `backfill rollback` switches back.
    """
    load_environment()
    from cdc.settings import Connections  # noqa: PLC0415 -- reads the environment
    from deploy.revisions.promote import SwitchRequest  # noqa: PLC0415 -- reads topics

    request = SwitchRequest(number, by or getpass.getuser(), timeout, approval=approval)
    show_switch(Connections(), request, json=json)


def rollback(
    *,
    by: SwitchedBy = "",
    without_comparison: Annotated[
        bool,
        typer.Option(help="Don't compare. Allowed if no worker of the present revision runs."),
    ] = False,
    timeout: Timeout = 300.0,
    json: options.Json = False,
) -> None:
    """Let the former revision decide again. No approval is needed.

    The workers of the former revision must run and must have folded all records. They also know the
    orders that people made after the cut-over, because these orders are records of the log. To undo
    a rollback, use `cutover`.

    The command asks for no password. But only an account of this machine that can read the files of
    INVENTORY_HOME can run it.
    """
    load_environment()
    from cdc.settings import Connections  # noqa: PLC0415 -- reads the environment
    from deploy.revisions.promote import SwitchRequest, revision_before  # noqa: PLC0415 -- as above

    settings = Connections()
    request = SwitchRequest(
        revision_before(settings),
        by or getpass.getuser(),
        timeout,
        accepts_any=True,
        without_comparison=without_comparison,
    )
    show_switch(settings, request, json=json)


def _refuse_deciding(settings: "Connections", number: int) -> int:
    """Check that `number` isn't the deciding revision. Return the deciding revision.

    Raises:
        StackError: `number` decides already, the workers of this stack run it, or no revision
        decides yet.
    """
    from deploy.revisions.promote import active  # noqa: PLC0415 -- opens a connection
    from inventory.revision import LOGIC_REVISION  # noqa: PLC0415 -- as above

    former = active(settings)
    if former is None:
        message = "no revision decides yet, because no worker has started; nothing was started"
        raise StackError(message, repair="inventory up --detach")
    if number in (former, LOGIC_REVISION):
        message = (
            f"logic revision {number} decides already, or this stack's own workers run it; "
            "nothing was started"
        )
        raise StackError(message, repair="inventory revision list")
    return former


def _compared(
    settings: "Connections", number: int, approval: str, timeout: float
) -> tuple[int, dict[str, Any]]:
    """Compare the deciding revision with revision `number` once.

    Return the number of differing keys that are not approved, and the counts for the output line.
    """
    from deploy.revisions.approval import approval_of  # noqa: PLC0415 -- opens a connection
    from deploy.revisions.compare import compare  # noqa: PLC0415 -- reads topics
    from deploy.revisions.decisions import Decisions  # noqa: PLC0415 -- as above
    from deploy.revisions.promote import connect  # noqa: PLC0415 -- as above
    from deploy.revisions.rules import refuse_unapproved_rules  # noqa: PLC0415 -- asks workers

    former = _refuse_deciding(settings, number)
    known = frozenset[tuple[str, str]]()
    if approval:
        with connect(settings) as connection:
            approved = approval_of(connection, approval, former=former, revision=number)
        refuse_unapproved_rules(settings, approved, number, timeout)
        known = approved.keys
    sides = Decisions(settings, former), Decisions(settings, number)
    found = compare(settings, *sides, timeout, report=output.errors.print)
    unapproved = {(one.kind, one.inv_key) for one in found.differences} - known
    return len(unapproved), _line(found, len(unapproved))


def _line(found: "Comparison", unapproved: int) -> dict[str, Any]:
    return {
        "at_s": int(time.time()),
        "former": found.former,
        "revision": found.fresh,
        "records": sum(found.barrier.values()),
        **found.counts(),
        "unapproved": unapproved,
    }


def _text(line: dict[str, Any]) -> str:
    at = time.strftime("%H:%M:%S", time.gmtime(line["at_s"]))
    counts = ", ".join(
        f"{line[name]:,} {name.replace('_', ' ')}"
        for name in (
            "equal",
            "only_former",
            "only_new",
            "changed",
            "explanation",
            "moving",
            "unapproved",
        )
    )
    return f"{at} UTC, {counted_text(line['records'], 'record')}: {counts}"

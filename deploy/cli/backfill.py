"""Commands of `inventory backfill`: run, verify, publish, compact, discard, status."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer

from deploy import output
from deploy.cli import backfill_options as options
from deploy.cli import option_checks
from deploy.cli.backfill_group import RELEASED_S, add_command
from deploy.cli.backfill_options import ENGINES, Conf, Engine, Json, Master, Python
from deploy.cli.reports import print_and_exit, print_report, rows
from deploy.errors import StackError
from deploy.stack.django import connect_django
from deploy.stack.home import default_home
from deploy.stack.runtime import load_environment
from deploy.time_left import TimeLeft
from inventory.explain.formatting import counted_text

VerifyFrom = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="RUN",
        help="Start from the states of this finished run. last-proven: the run of the newest proof "
        "without a difference.",
    ),
]
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
_LAST_PROVEN: Final = "last-proven"
_MODULE: Final = "deploy.cli.main"


def register(_app: typer.Typer) -> None:
    """Add the commands to `inventory backfill`."""
    for each in (run, verify, publish, compact, discard, status):
        add_command(each)


def run(
    *,
    engine: Engine = "local",
    until: options.Until = None,
    buckets: options.Buckets = None,
    master: Master = None,
    conf: Conf = None,
    code: options.Code = None,
    ref: options.Ref = "",
    changes: options.Set = None,
    where: options.Where = None,
    revision: options.Revision = None,
    key: options.Keys = None,
    store: options.Stores = None,
    item: options.Items = None,
    supplier: options.Suppliers = None,
    archive: options.Archive = "",
    base: options.From = "",
    python: Python = "",
    what_if: options.WhatIf = False,
    json: Json = False,
) -> None:
    """Recompute every key from the first record on, with the rules that the workers use.

    With --code, --ref or --set, the run uses other rules, with another logic revision. `backfill
    publish` can give the run's states to this revision. `backfill plan` shows the size of a run.
    The command refuses a run that can't be published, unless --what-if is given. A run with --from
    has only the decisions after the end of its base run, and can't be published or compared.
    """
    filters = (key, store, item, supplier)
    request = options.request_of(engine, until, buckets, filters, archive, base)
    cluster = cluster_of(master, conf)
    origin = options.origin_of(code, ref, changes, where, revision)
    settings = options.settings_for(until, request.archive)
    change = options.change_of(origin)
    manifest, plan = options.plan_of(settings, request, change)
    from analytics.backfill import run as backfills  # noqa: PLC0415 -- reads the environment
    from analytics.backfill.change.planned import refuse_unpublishable  # noqa: PLC0415 -- as above

    if not what_if:
        refuse_unpublishable(manifest, plan, change)
    if not change.is_own:
        flags = replace(request, buckets=plan.buckets).flags() + _cluster_flags(master, conf)
        # Source trees of earlier releases don't have the option --what-if.
        flags += ["--what-if"] if change.unnumbered() else []
        _in_tree(change.tree, python, "run", flags, json=json)
    found = backfills.execute(
        plan, backfills.runs_dir(settings), cluster=cluster, progress=unit_progress()
    )
    print_report("backfill run", {"base": plan.base_name, **found.as_json()}, json=json)


def verify(
    *,
    engine: Engine = "local",
    base: VerifyFrom = "",
    master: Master = None,
    conf: Conf = None,
    json: Json = False,
) -> None:
    """Recompute the state of every key, and compare it with the state in the live workers.

    Both states include the log up to the same offset, and must be equal byte for byte. The command
    also compares the decisions with the proposals in Postgres. With --from RUN, it compares only
    the decisions after the end of RUN.

    Exit code 1: a state or a decision differs.
    """
    option_checks.check_choice("--engine", engine, ENGINES)
    load_environment()
    from analytics.backfill import verify as comparison  # noqa: PLC0415 -- reads the environment
    from analytics.backfill.base import plan_from  # noqa: PLC0415 -- as above

    found = comparison.verify(
        engine,
        planner=partial(plan_from, base=_base(base), engine=engine) if base else None,
        progress=unit_progress(),
        cluster=cluster_of(master, conf),
    )
    print_and_exit("backfill verify", found, json=json)


def _base(name: str) -> Any:  # noqa: ANN401 -- its class is imported only by commands that need it
    """Return the run `name`, or for `last-proven` the run of the newest proof without a difference.

    Raises:
        StackError: `name` is `last-proven`, and this code's rules have no recorded proof without a
            difference.
    """
    from analytics.backfill.base import base_of  # noqa: PLC0415 -- loads the file format
    from analytics.backfill.prove import proofs_dir  # noqa: PLC0415 -- as above
    from analytics.backfill.run import runs_dir  # noqa: PLC0415 -- as above

    if name != _LAST_PROVEN:
        return base_of(runs_dir(_settings()), name)
    connect_django()
    from deploy.proving.proof import last_proven  # noqa: PLC0415 -- needs Django set up

    found = last_proven()
    if found is None:
        message = "no equal proof is recorded for the rules of this code; nothing was computed"
        raise StackError(message, repair="inventory backfill prove")
    return base_of(proofs_dir(_settings()), found)


def publish(
    name: Annotated[str, typer.Argument(metavar="RUN", help=options.RUN)],
    *,
    code: options.Code = None,
    python: Python = "",
    json: Json = False,
) -> None:
    """Fill a logic revision's changelogs from a run, so that the revision's workers need no replay.

    The run must have the rules of this code, or of the source tree --code. These rules must be
    committed in Git. The run must have read an archive of the present topic stock.events. The
    revision must have no state yet.

    If the command is interrupted, start it again.
    """
    options.refuse_other_project(code)
    load_environment()
    if code is not None:
        options.refuse_earlier_tree(code)
        _in_tree(code, python, "publish", [], name, json=json)
    from deploy.revisions.publish import publish as write  # noqa: PLC0415 -- writes topics

    found = write(_settings(), name, output.errors.print)
    print_report("backfill publish", found.as_json(), json=json)


def compact(*, json: Json = False) -> None:
    """Merge small archive files into files of 64 to 256 MiB, so that runs read them faster.

    The former archive stays in `former`. A running archiver continues in the new archive. Earlier
    runs can still be queried and compared, but not published.
    """
    archive = default_home() / "archive"
    _refuse_empty(archive)
    from analytics.archive.compact import compact as merge  # noqa: PLC0415 -- loads the file format
    from analytics.archive.move_away import requested_archive  # noqa: PLC0415 -- as above

    with requested_archive(archive, timeout_s=RELEASED_S) as is_held:
        if not is_held:
            message = (
                f"{archive}: an archiver has held the lock of this archive for {RELEASED_S:.0f} s; "
                "nothing was changed"
            )
            raise StackError(message, repair="inventory down && inventory backfill compact")
        done = merge(archive, progress=output.errors.print)
    if json:
        output.as_json({**asdict(done), "former": done.former and str(done.former)})
        return
    rate = f", {done.records / done.seconds:,.0f} records/s" if done.records else ""
    output.console.print(
        f"{counted_text(done.files_before, 'file')} before, {done.files_after} now; "
        f"{counted_text(done.records, 'record')} merged{rate}"
    )
    if done.former is not None:
        output.console.print(f"the former archive is in {done.former}; delete it to free its space")


def discard(
    name: Annotated[str, typer.Argument(metavar="RUN", help=options.RUN)],
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Confirm the move.")] = False,
) -> None:
    """Move a run to another directory, so that the next `backfill run` computes it again."""
    settings = options.settings_for(options.ARCHIVED)
    from analytics.backfill.discard import discard as move_away  # noqa: PLC0415 -- reads files
    from analytics.backfill.plan import directory_of  # noqa: PLC0415 -- as above
    from analytics.backfill.run import runs_dir  # noqa: PLC0415 -- as above

    directory = directory_of(runs_dir(settings), name)
    if not yes:
        message = f"{directory} would be moved away; nothing was moved"
        raise StackError(message, repair=f"inventory backfill discard {directory.name} --yes")
    output.console.print(f"the run was moved to {move_away(directory)}")


def status(*, archive: options.Archive = "", json: Json = False) -> None:
    """Show the archive and list all runs."""
    settings = options.settings_for(options.ARCHIVED, options.use_archive(archive))
    from analytics.backfill import status as runs  # noqa: PLC0415 -- loads the file format

    found = runs.status(settings)
    if json:
        output.as_json(found)
        return
    output.table("archive", ("what", "value"), list(rows(found["archive"])))
    output.table(
        f"{counted_text(len(found['runs']), 'run')}, newest first",
        _RUN_COLUMNS,
        [[entry.get(name) for name in _RUN_COLUMNS] for entry in found["runs"]],
    )
    for entry in found["runs"]:
        if "problem" in entry:
            output.console.print(entry["problem"])


def _refuse_empty(archive: Path) -> None:
    from analytics.archive.former import refuse_lost_manifest  # noqa: PLC0415 -- as above
    from analytics.archive.names import HEAD, MANIFEST, present  # noqa: PLC0415 -- loads the format

    refuse_lost_manifest(archive)
    if not any(present(archive, name).exists() for name in (MANIFEST, HEAD)):
        message = f"{archive}: nothing is archived yet"
        raise StackError(message)


def _settings() -> Any:  # noqa: ANN401 -- its class is imported only by commands that need it
    from cdc.settings import Connections  # noqa: PLC0415 -- reads the environment

    return Connections()


def cluster_of(master: str | None, conf: list[str] | None) -> Any:  # noqa: ANN401 -- its class is late
    """Return the Spark cluster that the options --master and --conf describe.

    `--conf spark.master=…` names the master, too. The option --master has priority.
    """
    from analytics.engines.spark import DEFAULT_MASTER, Cluster  # noqa: PLC0415 -- only with a run

    pairs = option_checks.parse_pairs("--conf", conf or [])
    named = pairs.pop("spark.master", DEFAULT_MASTER)
    return Cluster(master or named, pairs)


def _cluster_flags(master: str | None, conf: list[str] | None) -> list[str]:
    pairs = [text for pair in conf or () for text in ("--conf", pair)]
    return pairs if master is None else ["--master", master, *pairs]


def _in_tree(
    code: Path,
    python: str,
    verb: str,
    flags: Sequence[str],
    *arguments: str,
    json: bool,
) -> NoReturn:
    """Run `backfill VERB` with the code of the source tree `code`, on this stack.

    Afterwards, end this process with the exit code of that command. If this process gets SIGTERM,
    for example from the prover, it sends SIGTERM to the command.
    """
    tree = code.resolve()
    command = [
        option_checks.interpreter(python),
        "-m",
        _MODULE,
        "backfill",
        verb,
        *flags,
        *(["--json"] if json else []),
        *(["--", *arguments] if arguments else []),  # a name may begin with a dash
    ]
    mine = {"INVENTORY_HOME": str(default_home()), "PYTHONPATH": str(tree)}
    child = subprocess.Popen(command, cwd=tree, env=os.environ | mine)  # noqa: S603 -- a tree that the operator has named
    former = signal.signal(signal.SIGTERM, lambda _number, _frame: child.terminate())
    try:
        found = child.wait()
    except BaseException:
        child.kill()
        raise
    finally:
        signal.signal(signal.SIGTERM, former)
    raise typer.Exit(found)


def unit_progress() -> Callable[[int, int, str], None]:
    """Return a function that prints the progress of one run, with the time left.

    Its arguments are the finished units, the planned units and the name of the newest finished
    unit.
    """
    left = TimeLeft()

    def show(done: int, planned: int, name: str) -> None:
        after = left.text(done, planned, time.monotonic())
        output.errors.print(f"{done} of {counted_text(planned, 'unit')}: {name}{after}")

    return show

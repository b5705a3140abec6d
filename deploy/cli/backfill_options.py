"""Options that several commands of `inventory backfill` share, and the values parsed from them."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from deploy import output
from deploy.cli import option_checks
from deploy.errors import StackError
from deploy.stack.home import Home, default_home
from deploy.stack.runtime import ADDRESS, load_environment, read_runtime
from inventory.explain.formatting import counted_text

if TYPE_CHECKING:
    from analytics.backfill.change.changed import Change, Origin
    from analytics.backfill.plan import Plan
    from analytics.engines.selection import Selection
    from cdc.settings import Connections

ENGINES: Final = ("local", "spark")
# A value of --until: the history ends at the last archived record that is no heartbeat. With it, a
# command needs no broker.
ARCHIVED: Final = "archived"
_ARCHIVE: Final = "INVENTORY_ARCHIVE"

RUN: Final = "Name of a run, `last`, or the number of a logic revision for its newest run."

FINISHED_RUN: Final = (
    "Name of a run, `last`, or the number of a logic revision for its newest finished run."
)
Run = Annotated[str, typer.Argument(help=FINISHED_RUN)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Engine = Annotated[str, typer.Option(help="Engine: local or spark.")]
Master = Annotated[
    str | None,
    typer.Option(help="Address of the Spark master. Default: the cores of this machine."),
]
Conf = Annotated[
    list[str] | None,
    typer.Option(
        "--conf", metavar="KEY=VALUE", help="Property of the Spark session. Can be repeated."
    ),
]
Python = Annotated[
    str,
    typer.Option(
        help="Python interpreter with the packages that --code needs. Default: this command's."
    ),
]
Until = Annotated[
    str | None,
    typer.Option(
        metavar="WHEN",
        help="End of the history: a time such as 2026-03-02T06:00 (UTC); the end of a run, given "
        "by its name, by `last`, or by the number of a logic revision for its newest run; or "
        "`archived`, the last archived record. Default: all committed records.",
    ),
]
Buckets = Annotated[
    int | None,
    typer.Option(help="Number of parts into which each partition is split. Default: by its size."),
]
From = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="RUN",
        help="Start from the states of this finished run, and read only the records after it.",
    ),
]
Code = Annotated[
    Path | None, typer.Option(help="Directory with the sources of other rules. Default: this code.")
]
Ref = Annotated[
    str, typer.Option(help="Take the rules from this commit, branch or tag of this repository.")
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="COLUMN=VALUE",
        help="Column of the policy to set for all items, such as hysteresis_units=3; repeatable.",
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=VALUE,…",
        help="With --set: only these items, such as family=sS,location=BERLIN-1; repeatable.",
    ),
]
Revision = Annotated[
    int | None,
    typer.Option(
        min=2,
        help="With --set: logic revision of the run. Default: the next free number.",
    ),
]
Archive = Annotated[
    str,
    typer.Option(
        metavar="PATH|URL",
        help="Archive to read instead of the stack's: a directory, file:// or s3://BUCKET/PATH. "
        "The AWS_ variables of the environment give access. Default: INVENTORY_ARCHIVE.",
    ),
]
WholeArchive = Annotated[
    bool,
    typer.Option(
        "--whole-archive",
        help="Read the archive up to its newest file instead of up to the end of the run.",
    ),
]
Keys = Annotated[
    list[str] | None,
    typer.Option("--key", metavar="STORE|SKU", help="Only this key; repeatable."),
]
Stores = Annotated[list[str] | None, typer.Option("--store", help="Only this store; repeatable.")]
Items = Annotated[list[str] | None, typer.Option("--item", help="Only this SKU; repeatable.")]
Suppliers = Annotated[
    list[str] | None,
    typer.Option("--supplier", help="Only keys that ever had this supplier; repeatable."),
]
WhatIf = Annotated[
    bool,
    typer.Option("--what-if", help="Allow a run that could not be published."),
]


@dataclass(frozen=True, slots=True)
class Request:
    """Options of a run, apart from its rules."""

    engine: str
    until: str | None
    buckets: int | None
    selection: "Selection"
    base: str = ""
    archive: str = ""

    def flags(self) -> list[str]:
        """Return these options as arguments for a `backfill` command of another source tree."""
        chosen = self.selection
        lists = (
            ("--key", chosen.keys),
            ("--store", chosen.stores),
            ("--item", chosen.items),
            ("--supplier", chosen.suppliers),
        )
        flags = ["--engine", self.engine]
        flags += [] if self.buckets is None else ["--buckets", str(self.buckets)]
        flags += [] if self.until is None else ["--until", self.until]
        flags += ["--from", self.base] if self.base else []
        flags += ["--archive", self.archive] if self.archive else []
        return flags + [text for name, values in lists for one in values for text in (name, one)]


def request_of(
    engine: str,
    until: str | None,
    buckets: int | None,
    filters: Sequence[list[str] | None],
    archive: str,
    base: str = "",
) -> Request:
    """Return the checked options of a run as one `Request`.

    `filters` has four lists in this order: keys, stores, items and suppliers. None is no filter.
    """
    from analytics.engines.selection import Selection  # noqa: PLC0415 -- loads the file format

    option_checks.check_choice("--engine", engine, ENGINES)
    option_checks.check_int("--buckets", buckets)
    chosen = Selection(*(tuple(one or ()) for one in filters))
    return Request(engine, until, buckets, chosen, base, use_archive(archive))


def origin_of(
    code: Path | None,
    ref: str,
    changes: list[str] | None,
    where: list[str] | None,
    revision: int | None,
) -> "Origin":
    """Return the checked options about the rules as one `Origin`.

    They are the source tree, the commit, the policy changes and the logic revision.
    """
    from analytics.backfill.change.changed import Origin  # noqa: PLC0415 -- loads the rules
    from analytics.backfill.change.parameters import rule_of  # noqa: PLC0415 -- as above

    refuse_other_project(code)
    if not changes and (where or revision is not None):
        option = "--where" if where else "--revision"
        message = f"{option} requires --set, which names the new values; nothing was computed"
        raise StackError(message)
    overlay = (rule_of(changes, where or ()),) if changes else ()
    return Origin(code, ref, overlay, revision)


def refuse_other_project(code: Path | None) -> None:
    """Raise `StackError` if `code` is given and is no source tree of this project."""
    if code is not None and not (code / "deploy" / "cli" / "backfill.py").is_file():
        message = (
            f"--code {str(code)!r}: expected a directory with this project's sources, but it has "
            "no deploy/cli/backfill.py; nothing was computed or published"
        )
        raise StackError(message)


def use_archive(named: str) -> str:
    """Make this process and its children read the archive `named`.

    If `named` is empty, they read the archive in `INVENTORY_ARCHIVE`. If that is empty, too, they
    read the stack's own archive. Return the archive's URL or absolute path, or "" for the stack's
    own archive.

    Raises:
        NoArchive: the URL has credentials or options. The message doesn't contain the URL.
    """
    found = named or os.environ.get(_ARCHIVE, "")
    if not found:
        return ""
    from analytics.archive.storage import is_url, storage_of  # noqa: PLC0415 -- only with an archive

    if is_url(found):
        storage_of(found)
    else:
        found = str(Path(found).resolve())
    os.environ[_ARCHIVE] = found
    return found


def settings_for(until: str | None, archive: str = "") -> "Connections":
    """Return the settings, with a broker's address if a stack runs and no archive is named.

    A command needs the broker only if `until` is None, which means all committed records. A named
    archive needs no broker, because no command adds records to it.

    Raises:
        StackError: `until` is None, no archive is named, and no stack runs in this home.
    """
    if archive:
        return offline_settings()
    home = Home(default_home())
    has_stack = read_runtime(home).running or ADDRESS in os.environ
    if until is None or has_stack:
        load_environment()
    from cdc.settings import Connections  # noqa: PLC0415 -- reads the environment

    return Connections() if until is None or has_stack else offline_settings()


def offline_settings() -> "Connections":
    """Return settings with the directories of the home, and without the address of a broker."""
    from cdc.settings import Connections  # noqa: PLC0415 -- reads the environment

    return Connections(home=default_home(), kafka_bootstrap="")


def change_of(origin: "Origin") -> "Change":
    """Return the change of rules that `origin` describes.

    If the change needs a new source tree, write it to `backfill/trees` in the home.
    """
    from analytics.backfill.change.changed import change_of as found  # noqa: PLC0415 -- git, trees

    change = found(origin, default_home() / "backfill" / "trees")
    if not change.is_own:
        refuse_earlier_tree(change.tree)
    return change


def refuse_earlier_tree(tree: Path) -> None:
    """Raise `StackError` for a source tree of an earlier release.

    The code of such a tree expects other file names in an archive, so it would find no records in
    an archive of this release.
    """
    if not (tree / "analytics" / "archive" / "names.py").is_file():
        message = (
            f"{tree}: this source tree is of an earlier release, which can't read this archive. "
            "Nothing was computed or published. Merge this release into the tree"
        )
        raise StackError(message)


def print_archived(archived: int, missing: int) -> None:
    """Print the progress while records that a run needs are written to the archive."""
    output.errors.print(f"{archived:,} of {counted_text(missing, 'missing record')} archived")


def plan_of(settings: "Connections", request: Request, change: "Change") -> tuple[Any, "Plan"]:
    """Return the archive's manifest, and the plan for `request` with the rules of `change`."""
    from analytics.backfill.base import base_of, continued  # noqa: PLC0415 -- loads the file format
    from analytics.backfill.ends import history  # noqa: PLC0415 -- loads the Kafka client
    from analytics.backfill.plan import make_plan  # noqa: PLC0415 -- loads the file format
    from analytics.backfill.run import runs_dir  # noqa: PLC0415 -- as above

    runs = runs_dir(settings)
    base = base_of(runs, request.base) if request.base else None
    manifest, ends = history(settings, request.until, runs=runs, report=print_archived)
    plan = make_plan(
        manifest,
        engine=request.engine,
        ends=ends,
        # Without --buckets, a run with --from has as many buckets as its base run.
        buckets=request.buckets or (base.plan.buckets if base else None),
        selection=request.selection,
        rules=change.rules,
    )
    return manifest, continued(plan, base) if base else plan

"""`inventory backfill clean`: list or remove unused files in archive and runs."""

from typing import Annotated, Final

import typer

from deploy import output
from deploy.cli.backfill_group import add_command
from deploy.cli.backfill_options import Json
from deploy.stack.home import default_home
from inventory.explain.formatting import counted_text

_MB: Final = 1_000_000
_YES: Final = "inventory backfill clean --yes"


def register(_app: typer.Typer) -> None:
    """Add the command to `inventory backfill`."""
    add_command(clean)


def clean(
    *,
    yes: Annotated[
        bool, typer.Option("--yes", help="Delete or move the files. Default: list them.")
    ] = False,
    json: Json = False,
) -> None:
    """List the files in archive and runs that no manifest lists. With --yes remove them.

    In runs, these files were left by killed tasks, comparisons and simulations, and the command
    deletes them. In the archive, the command moves them to the directory `former`, because a
    damaged manifest may lack files that are needed. The command leaves out runs that are in use.
    """
    from analytics.archive.checked import unlisted  # noqa: PLC0415 -- loads the file format
    from analytics.archive.manifest import Manifest  # noqa: PLC0415 -- as above
    from analytics.archive.move_away import move_unlisted_away  # noqa: PLC0415 -- as above
    from analytics.backfill.clean import clean as clean_runs  # noqa: PLC0415 -- as above
    from analytics.backfill.run import runs_dir  # noqa: PLC0415 -- as above
    from cdc.settings import Connections  # noqa: PLC0415 -- reads the environment

    archive = default_home() / "archive"
    strange = [str(path) for path in unlisted(Manifest(archive))] if archive.exists() else []
    moved = [str(path) for path in move_unlisted_away(archive)] if yes and strange else []
    runs = clean_runs(runs_dir(Connections(home=default_home())), delete=yes)
    total = sum(orphan.bytes for orphan in runs.found)
    if json:
        rows = [{"path": str(o.path), "bytes": o.bytes, "reason": o.reason} for o in runs.found]
        found = {"archive": strange, "moved": moved, "runs": rows, "skipped": [*runs.skipped]}
        output.as_json({**found, "bytes": total, "removed": yes})
        return
    for path in strange:
        output.console.print(f"{path}: no line of the manifest lists this file")
    for path in moved:
        output.console.print(f"moved to {path}")
    for orphan in runs.found:
        output.console.print(f"{orphan.path}: {orphan.reason}")
    for reason in runs.skipped:
        output.console.print(f"left out: {reason}")
    number = len(strange) + len(runs.found)
    done = "removed" if yes else f"kept; `{_YES}` removes them" if number else "nothing to remove"
    output.console.print(
        f"{counted_text(number, 'unused file or directory', 'unused files or directories')}, "
        f"{total / _MB:.1f} MB in runs: {done}"
    )

"""`backfill status`: the archive and every run with its progress."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from analytics.archive.manifest import BrokenArchive, open_manifest
from analytics.archive.storage import NoArchive
from analytics.backfill.plan import PLAN_FILE, UnknownRun, load
from analytics.backfill.run import runs_dir
from analytics.backfill.seal import RUN_MANIFEST, load_report
from cdc.settings import Connections


def status(settings: Connections | None = None) -> dict[str, Any]:
    """Return the state of the archive (`archive`) and a list of all runs (`runs`), newest first.

    A run whose plan or report can't be read has a `problem`. A run that another process discards
    meanwhile is left out.
    """
    known = settings or Connections()
    written_ns: dict[Path, int] = {}
    for plan in runs_dir(known).glob(f"*/{PLAN_FILE}"):
        with suppress(FileNotFoundError):
            written_ns[plan] = plan.stat().st_mtime_ns
    plans = sorted(written_ns, key=lambda plan: -written_ns[plan])
    return {
        "archive": {"directory": str(known.archive_location)} | _archive_status(known),
        "runs": [_run_status(path.parent) for path in plans],
    }


def _archive_status(settings: Connections) -> dict[str, Any]:
    try:
        manifest = open_manifest(settings.archive_location)
    except (BrokenArchive, NoArchive) as error:
        return {"problem": str(error)}
    files = manifest.all_files()
    named = sorted({file.partition for file in files}) if settings.archive else []
    return {
        "files": len(files),
        "records": sum(file.rows for file in files),
        "next_offsets": {
            str(number): manifest.next_offset(number)
            for number in named or range(settings.partitions)
        },
    }


def _run_status(directory: Path) -> dict[str, Any]:
    try:
        plan = load(directory)
    except UnknownRun as error:
        return {"run": directory.name, "finished": None, "problem": str(error)}
    done = directory / RUN_MANIFEST
    finished = done.read_bytes().count(b"\n") if done.exists() else 0
    summary = {
        "run": plan.run,
        "engine": plan.engine,
        "logic_revision": plan.logic_revision,
        "units": len(plan.units),
        "units_finished": finished,
    }
    try:
        report = load_report(directory)
    except UnknownRun as error:
        return summary | {"finished": None, "problem": str(error)}
    return summary | {"finished": report is not None} | (report or {})

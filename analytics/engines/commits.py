"""Commits of finished units: one file each, created once by the task that computed the unit.

Spark may run two attempts of one unit: a speculative copy, or a repetition after a lost executor.
Both may finish. A hard link creates the file of the first attempt with its complete content. For
the second attempt the link fails. So at most one attempt is ever committed, on every file system
with hard links (local disks, NFS). `O_EXCL` alone is not enough: a task killed between creating and
writing would leave an empty file.

The driver reads the commits while its job runs. If the driver is killed, a later start of the run
reads them.
"""

import os
import shutil
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from analytics.damage import Damage
from analytics.engines.unit import ArchiveUnit, ManifestRow, line_of, manifest_row

COMMITS: Final = "commits"
_STEP: Final = (
    "`inventory backfill discard {run} --yes` moves the run away, `inventory backfill run` "
    "computes it again"
)


class CommitConflict(Damage):
    """A unit is committed with another result than the one just computed."""


def commits_of(results: Path) -> Path:
    """Return the directory of commits beside the directory of results."""
    return results.parent / COMMITS


def commit(row: ManifestRow, commits: Path) -> ManifestRow:
    """Commit the unit's result, unless another attempt is committed. Return the committed row.

    If another attempt is committed, delete the files of this attempt.

    Raises:
        CommitConflict: the committed attempt has other records, other code or another result.
    """
    create_once(commits / _file_name(row.unit), line_of(row))
    found = manifest_row((commits / _file_name(row.unit)).read_bytes())
    if found.directory != row.directory:
        shutil.rmtree(row.directory)
        if _result_of(found) != _result_of(row):
            problem = f"{row.unit}: a second attempt has another result than {found.directory}"
            step = _STEP.format(run=commits.parent.name)
            raise CommitConflict(problem, "the first attempt was kept, the second deleted", step)
    return found


def committed(unit: ArchiveUnit, commits: Path) -> ManifestRow | None:
    """Return the result in the unit's commit file, or None if the unit is not committed.

    Raises:
        CommitConflict: the commit was computed from other records or by other code.
    """
    for row in rows_of([unit.name], commits):
        if (row.input_digest, row.code, row.end) != (unit.input_digest, unit.code, unit.end):
            problem = f"{unit.name}: committed from other records or by other code {row.code}"
            step = _STEP.format(run=commits.parent.name)
            raise CommitConflict(problem, "the commit was kept", step)
        return row
    return None


def rows_of(units: Iterable[str], commits: Path) -> Iterator[ManifestRow]:
    """Yield the rows of those `units` that are committed, in the order of `units`.

    Raises:
        UnreadableRecord: a commit was changed.
    """
    present = {path.name for path in commits.iterdir()} if commits.is_dir() else set()
    for name in units:
        if _file_name(name) in present:
            yield manifest_row((commits / _file_name(name)).read_bytes())


class CommitReader:
    """A reader of commit files for the driver. It returns the result of each unit once."""

    def __init__(self, units: Iterable[str], commits: Path) -> None:
        self._commits = commits
        self._waiting = dict.fromkeys(units)

    def new_rows(self) -> list[ManifestRow]:
        """Return the rows that were committed since the last call."""
        return [self.take(row) for row in list(rows_of(self._waiting, self._commits))]

    def take(self, row: ManifestRow) -> ManifestRow:
        """Return `row`. After this call, `new_rows` doesn't return the row of this unit."""
        self._waiting.pop(row.unit, None)
        return row

    def is_waiting(self, unit: str) -> bool:
        """Return True if the unit's row was not returned yet."""
        return unit in self._waiting


def create_once(path: Path, content: bytes) -> None:
    """Create the file with its complete content, on disk. Do nothing if it exists."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.link(temporary, path)
    except FileExistsError:
        pass  # another attempt was first; or NFS lost the answer and repeated this request
    finally:
        temporary.unlink(missing_ok=True)


def _file_name(unit: str) -> str:
    return f"{unit.replace('/', ',')}.json"


def _result_of(row: ManifestRow) -> tuple[object, ...]:
    """Return the fields that two attempts of a unit must share. Bytes of files may differ."""
    return (
        row.input_digest,
        row.code,
        row.end,
        row.records,
        row.states_digest,
        row.outputs_digest,
        row.late_digest,
        row.rejected_digest,
        row.expired_digest,
    )

"""Describe a failed unit, with its stage, record, key, cause and next step."""

import errno
import json
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from analytics.damage import Damage
from analytics.engines.commits import create_once

_ROOT: Final = Path(__file__).resolve().parents[2]
_LONGEST: Final = 300
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
# Errors of a disk. Another OSError, such as a closed pipe to a pager, has another cause.
_DISK: Final = (*_FULL, errno.EROFS, errno.EIO, errno.EFBIG, errno.EACCES)


class EngineFailed(Damage):
    """Units of a run failed, or the engine itself."""


@dataclass(frozen=True, slots=True)
class UnitFailed:
    """The reason why one unit has no result. No reader uses the files of the failed attempt."""

    unit: str
    problem: str
    step: str


def failed(
    unit: str, stage: str, error: Exception, *, position: str = "", key: bytes | None = None
) -> UnitFailed:
    """Return the failure of one unit, with `position` and `key` of the current record, if any."""
    key_text = "" if key is None else f"key {key.decode('utf-8', 'replace')}"
    about = ", ".join(
        part for part in (f"unit {unit}", f"stage {stage}", position, key_text) if part
    )
    if isinstance(error, Damage):
        return UnitFailed(unit, f"{about}: {error.problem}", error.step)
    if isinstance(error, OSError):
        return UnitFailed(unit, f"{about}: {_cause(error)}", _step_of(error))
    step = "correct the code that the message names, then start the same command again"
    return UnitFailed(unit, f"{about}: {_cause(error)}{_source_of(error)}", step)


@contextmanager
def named_disk_errors(run: str, kept: Callable[[], str]) -> Iterator[None]:
    """Replace a driver's disk error by one that names the run, what was kept and the next step.

    Raises:
        EngineFailed: the disk is full, read-only or broken.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _DISK:
            raise
        problem = f"run {run}: {_cause(error)}"
        raise EngineFailed(problem, kept(), _step_of(error)) from error


def write_failure(path: Path, failure: UnitFailed) -> None:
    """Write the first failure of a job, for its driver and for its tasks that have not begun."""
    create_once(path, json.dumps(asdict(failure)).encode())


def read_failure(path: Path) -> UnitFailed:
    """Return the failure that a task of this job wrote."""
    return UnitFailed(**json.loads(path.read_bytes()))


def _step_of(error: OSError) -> str:
    if error.errno in _FULL:
        place = error.filename or "the run"
        return f"free space on the disk of {place}, then start the same command again"
    return f"make {error.filename or 'the disk'} usable, then start the same command again"


def _cause(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:_LONGEST]


def _source_of(error: Exception) -> str:
    """Return the deepest line of this project in the traceback, as ` (path:line)`."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "site-packages" not in frame.filename]
    if not ours:
        return ""
    path = Path(ours[-1].filename)
    shown = path.relative_to(_ROOT) if path.is_relative_to(_ROOT) else path
    return f" ({shown}:{ours[-1].lineno})"

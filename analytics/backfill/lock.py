"""The lock that lets only one process compute, publish or discard a run."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from analytics.damage import Damage
from analytics.locks import exclusive, holder

LOCK: Final = "lock"
TAKEN: Final = 75  # EX_TEMPFAIL: the same command may succeed later


class RunInUse(Damage):
    """Another process holds the lock of the run."""

    exit_code = TAKEN


@contextmanager
def only_run(directory: Path) -> Iterator[None]:
    """Hold the lock of a run's directory; the kernel releases it when this process ends.

    Raises:
        RunInUse: another process holds it.
    """
    with exclusive(directory / LOCK) as is_held:
        if not is_held:
            process = holder(directory / LOCK)
            problem = f"run {directory.name} is in use by process {process}"
            kept = "this command changed nothing"
            step = "wait for the other command; `inventory backfill status` shows its progress"
            raise RunInUse(problem, kept, step)
        yield

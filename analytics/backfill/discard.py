"""Move a run to another directory. The next start of the same plan then computes it again."""

from pathlib import Path

from analytics.archive.move_away import move_directory_away
from analytics.backfill.lock import only_run


def discard(directory: Path) -> Path:
    """Move a run's directory to `former/runs` in the home. Return the new path.

    Raises:
        RunInUse: another process holds the lock of the run.
    """
    home = directory.parents[2]  # home/backfill/runs/NAME
    with only_run(directory):
        return move_directory_away(directory, home / "former" / "runs")

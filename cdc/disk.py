"""Writes that survive a power failure."""

import os
from pathlib import Path


def sync_directory(directory: Path) -> None:
    """Sync the directory to disk, so that a power failure doesn't undo a renaming in it."""
    opened = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)

"""The atomic exchange of two paths."""

import ctypes
import os
from pathlib import Path
from typing import Final

_AT_FDCWD: Final = -100  # paths are relative to the working directory
_EXCHANGE: Final = 2  # RENAME_EXCHANGE of renameat2(2)


def exchange(left: Path, right: Path) -> None:
    """Exchange two files, links or directories of one file system atomically.

    Raises:
        OSError: the file system can't exchange paths, or a path is missing.
    """
    library = ctypes.CDLL(None, use_errno=True)
    if library.renameat2(_AT_FDCWD, bytes(left), _AT_FDCWD, bytes(right), _EXCHANGE):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(left))

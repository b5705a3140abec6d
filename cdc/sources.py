"""A hash of the source files that can change a result, so that processes can compare their rules.

Runs, reviews and workers store this hash. Only the packages in `RULES` count, so a copy of these
packages alone has the same hash as the whole source tree.
"""

import hashlib
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final

RULES: Final = ("inventory", "cdc/contracts", "analytics/engines", "analytics/archive")
_ROOT: Final = Path(__file__).resolve().parents[1]
_CHARS: Final = 16


def hash_of(tree: Path) -> str:
    """Return a hash of the packages in `RULES`, from a directory or zip file, as 16 hex digits."""
    digest = hashlib.sha256()
    for name, content in _zipped(tree) if tree.is_file() else _unpacked(tree):
        digest.update(name.encode())
        digest.update(content)
    return digest.hexdigest()[:_CHARS]


@cache
def imported_hash() -> str:
    """Return the hash of this process's own sources, as they were at the first call.

    A long-lived process calls this right after its imports. A later edit of a file doesn't change
    the code that the process runs, so the hash must not change either.
    """
    return hash_of(_ROOT)


def sources(parts: tuple[str, ...], tree: Path) -> list[Path]:
    """Return the Python files below the folders `parts` of the directory `tree`, sorted."""
    return sorted(path for part in parts for path in (tree / part).rglob("*.py"))


def _unpacked(tree: Path) -> Iterator[tuple[str, bytes]]:
    for path in sources(RULES, tree):
        yield str(path.relative_to(tree)), path.read_bytes()


def _zipped(file: Path) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of each source file in the zip `file`, sorted by path."""
    with zipfile.ZipFile(file) as archive:
        for path in sorted(map(PurePosixPath, archive.namelist())):
            if any(path.is_relative_to(part) for part in RULES):
                yield str(path), archive.read(str(path))

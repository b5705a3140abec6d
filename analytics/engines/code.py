"""A hash of the code that computes, and the same code as a zip that a cluster can import.

A finished unit is reused only while its input, its logic revision and this hash are equal. So a
changed line of a rule recomputes everything.
"""

import hashlib
import shutil
import subprocess
import zipfile
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
_RULES: Final = ("inventory", "cdc/contracts", "analytics/engines", "analytics/archive")
_SHIPPED: Final = ("inventory", "cdc", "analytics")


@cache
def code_hash() -> str:
    """Return the hash of every source file that can change a result."""
    return hash_of(ROOT)


def hash_of(tree: Path) -> str:
    """Return the same hash of another source tree, if its rules are in the same packages."""
    digest = hashlib.sha256()
    for path in _sources(_RULES, tree):
        digest.update(str(path.relative_to(tree)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def write_zip(directory: Path) -> Path:
    """Write an importable zip of the code that a task needs, named by its hash. Return its path."""
    directory.mkdir(parents=True, exist_ok=True)
    target = directory / f"inventory-code-{code_hash()}.zip"
    temporary = target.with_suffix(".tmp")
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in _sources(_SHIPPED):
            archive.write(path, path.relative_to(ROOT))
    temporary.replace(target)
    return target


def _sources(parts: tuple[str, ...], tree: Path = ROOT) -> list[Path]:
    return sorted(path for part in parts for path in (tree / part).rglob("*.py"))


def uncommitted(tree: Path | None = None) -> tuple[str, ...]:
    """Return the rules' source files with uncommitted changes; empty outside a git work tree."""
    git = shutil.which("git")
    if git is None:
        return ()
    command = [git, "-C", str(tree or ROOT), "status", "--porcelain", "--", *_RULES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 -- fixed
    return tuple(line[3:] for line in done.stdout.splitlines()) if done.returncode == 0 else ()

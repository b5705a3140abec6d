"""A hash of the code that computes runs, and the same code as a zip that a cluster can import.

A finished unit is reused only while its input, its logic revision and this hash are unchanged. So
after a change of one line of a rule, everything is recomputed.
"""

import shutil
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path
from typing import Final

from analytics.damage import Damage
from cdc.sources import RULES, hash_of, sources

__all__ = [
    "ROOT",
    "OtherCode",
    "code_hash",
    "hash_of",
    "refuse_other_code",
    "uncommitted",
    "write_zip",
]

# The root of the imported code: a directory, or in an executor the zip that the driver shipped.
ROOT: Final = Path(__file__).resolve().parents[2]
_SHIPPED: Final = ("inventory", "cdc", "analytics")


@cache
def code_hash() -> str:
    """Return the hash of every source file that can change a result."""
    return hash_of(ROOT)


class OtherCode(Damage):
    """This process runs other code than the plan names."""


def refuse_other_code(expected: str) -> None:
    """Raise `OtherCode` unless this process has imported exactly the code of the plan.

    A machine of a cluster may have an older copy of the project on its Python path.
    """
    found = code_hash()
    strangers = [each for name in _SHIPPED if (each := _root_of(name)) != ROOT]
    if found == expected and not strangers:
        return
    where = f"from {', '.join(str(each) for each in (ROOT, *strangers))}"
    problem = f"this process runs code {found} {where}; the plan's code is {expected}"
    step = (
        "remove other copies of this project from the Python path of the machines that compute, "
        "then start the same command again"
    )
    raise OtherCode(problem, "the unit was not computed", step)


def _root_of(package: str) -> Path | None:
    file = sys.modules[package].__file__
    return None if file is None else Path(file).resolve().parents[1]


def write_zip(directory: Path) -> Path:
    """Write a zip of the code that a task needs, named by the code's hash. Return its path."""
    directory.mkdir(parents=True, exist_ok=True)
    target = directory / f"inventory-code-{code_hash()}.zip"
    temporary = target.with_suffix(".tmp")
    # A reproducible build sets the times of its files to 1970. A zip can't store times before 1980.
    # With `strict_timestamps=False`, such a time becomes 1980 and raises no error.
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for path in sources(_SHIPPED, ROOT):
            archive.write(path, path.relative_to(ROOT))
    temporary.replace(target)
    return target


def uncommitted(tree: Path | None = None) -> tuple[str, ...]:
    """Return the rules' source files with uncommitted changes; empty outside a git work tree."""
    git = shutil.which("git")
    if git is None:
        return ()
    command = [git, "-C", str(tree or ROOT), "status", "--porcelain", "--", *RULES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 -- fixed
    return tuple(line[3:] for line in done.stdout.splitlines()) if done.returncode == 0 else ()

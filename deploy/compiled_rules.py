"""Which compiled rules there are, how they are made, and what makes a process take them.

They lie outside the tree, in the cache, in a directory named by the content of the sources and by
the interpreter: a changed line leaves them behind, and whoever starts a worker from that code gets
the sources until somebody compiles again. Only workers take them. Recomputations interpret the
sources, so each `backfill verify` beside compiled workers compares the two forms too.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from deploy.artifacts.fetch import cache_root
from deploy.artifacts.prerequisites import GCC, require
from deploy.errors import MissingPrerequisite, StackError

ROOT: Final = Path(__file__).resolve().parents[1]
RULES: Final = "inventory"
_NAME_CHARS: Final = 16
_SAID_CHARS: Final = 2_000
_BUILD_S: Final = 1_800.0
# Value classes stay Python's, made by the decorator in the first; the second's columns are whatever
# was found in the log, and mypyc has no slot for that. Explanations are for pages only.
_INTERPRETED: Final = ("model/value.py", "model/record.py", "explanation/*.py", "**/__init__.py")
_FLAG: Final = "PYTHONSAFEPATH"  # or the working directory, the tree, would come before the cache


def directory() -> Path:
    """Where the compiled form of exactly these sources lies, or would."""
    digest = hashlib.sha256(str(sysconfig.get_config_var("SOABI")).encode())
    for path in sorted((ROOT / RULES).rglob("*.py")):
        digest.update(str(path.relative_to(ROOT)).encode())
        digest.update(path.read_bytes())
    return cache_root() / f"rules-{digest.hexdigest()[:_NAME_CHARS]}"


def present() -> Path | None:
    """The compiled rules, if they were made."""
    found = directory()
    return found if found.is_dir() else None


def environment() -> dict[str, str]:
    """Variables that make a child process take the compiled rules; none where there are none."""
    found = present()
    if found is None:
        return {}
    others = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    path = [str(found), str(ROOT), *filter(None, others)]
    return {"PYTHONPATH": os.pathsep.join(path), _FLAG: "1"}


def ensure() -> Path:
    """The compiled rules, made first if they are not there; half a minute.

    Raises:
        StackError: something that compiling takes is missing, or mypyc refuses a source.
    """
    found = present()
    if found is not None:
        return found
    _require_tools()
    cache_root().mkdir(parents=True, exist_ok=True)
    target = directory()
    with tempfile.TemporaryDirectory(dir=cache_root(), prefix=".rules-") as scratch:
        made = Path(scratch) / "made"
        sources = shutil.ignore_patterns("__pycache__", "*.so")
        shutil.copytree(ROOT / RULES, made / RULES, ignore=sources)
        _build(made)
        try:
            made.rename(target)
        except OSError:  # somebody else was faster
            if not target.is_dir():
                raise
    return target


def remove() -> bool:
    """Delete the compiled rules of these sources; False if there were none."""
    found = present()
    if found is not None:
        shutil.rmtree(found)
    return found is not None


def _require_tools() -> None:
    if find_spec("mypyc") is None:
        message = "mypy is missing: its compiler makes machine code of the rules"
        raise MissingPrerequisite(message, repair="make install")
    require(GCC)
    header = Path(sysconfig.get_path("include")) / "Python.h"
    if not header.is_file():
        message = f"{header} is missing: compiled rules need it"
        raise MissingPrerequisite(message, repair="sudo apt-get install -y python3-dev")


def _build(tree: Path) -> None:
    """Compile in place, by a process of its own."""
    rules = tree / RULES
    left_out = {path for pattern in _INTERPRETED for path in rules.glob(pattern)}
    sources = sorted(str(path.relative_to(tree)) for path in {*rules.rglob("*.py")} - left_out)
    built = subprocess.run(  # noqa: S603 -- this interpreter, our files
        [sys.executable, "-m", "mypyc", *sources],
        cwd=tree,
        env=os.environ | {"MYPYC_OPT_LEVEL": "3", "MYPYC_DEBUG_LEVEL": "0"},
        capture_output=True,
        text=True,
        check=False,
        timeout=_BUILD_S,
    )
    if built.returncode != 0:
        said = (built.stdout + built.stderr)[-_SAID_CHARS:]
        message = f"the rules could not be compiled:\n{said}"
        raise StackError(message)
    shutil.rmtree(tree / "build")

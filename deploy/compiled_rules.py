"""The rules as machine code: the files of `inventory/` as they are, through mypyc.

Compiled files beside the sources would be imported by whoever imports those, so they lie in the
home of the stack whose workers shall take them, in a directory named by the content of the sources:
a changed line leaves them behind, and workers run the sources until somebody compiles again.
Recomputations always do, so each `backfill verify` beside compiled workers compares the two.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from deploy.artifacts.prerequisites import COMPILER, require
from deploy.errors import MissingPrerequisite, StackError

ROOT: Final = Path(__file__).resolve().parents[1]
COMPILE: Final = "inventory workers compile"
_RULES: Final = "inventory"
# Value classes stay Python's, made by the decorator in the first; the second's columns are whatever
# was found in the log, and mypyc has no slot for that. The ring's members would lose what they
# share, for nothing gained. Explanations are for pages only.
_INTERPRETED: Final = (
    "model/value.py",
    "model/record.py",
    "dedupe.py",
    "explanation/*.py",
    "**/__init__.py",
)
_PREFIX: Final = "rules-"
_NAME_CHARS: Final = 16
_SAID_CHARS: Final = 2_000
_PATH: Final = "PYTHONPATH"
_SAFE_PATH: Final = "PYTHONSAFEPATH"  # without it the working directory, the tree, comes first
_HEADERS: Final = "sudo apt-get install -y python3-dev"
_LOAD: Final = """
from streams.rules import are_compiled
raise SystemExit(None if are_compiled() else "what was made is not what is loaded")
"""


def directory(home: Path) -> Path:
    """Where the compiled form of exactly these sources lies in `home`, or would."""
    return home / _name(ROOT)


def present(home: Path) -> Path | None:
    """The compiled rules of this code in `home`, if they were made."""
    found = directory(home)
    return found if found.is_dir() else None


def left_behind(home: Path) -> bool:
    """Whether what is compiled in `home` was made of other sources."""
    return bool(_kept(home)) and present(home) is None


def environment(home: Path) -> dict[str, str]:
    """Variables that make a child process take the compiled rules; none where there are none.

    None either where that can't be found out: sources always do.
    """
    try:
        found = present(home)
    except OSError:
        return {}
    return {} if found is None else _taking(found)


def ensure(home: Path) -> Path:
    """The compiled rules, made first if they are not there; half a minute.

    What was made of other sources goes.

    Raises:
        StackError: something that compiling takes is missing, or mypyc refuses a source.
    """
    found = present(home)
    if found is not None:
        return found
    _require_tools(home)
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home, prefix=".rules-") as scratch:
        made = Path(scratch) / "made"
        hidden = shutil.ignore_patterns("__pycache__", ".*", "*.so")
        shutil.copytree(ROOT / _RULES, made / _RULES, ignore=hidden)
        target = home / _name(made)  # of the copy: somebody may save a file meanwhile
        _build(made)
        _try(made)
        if not target.exists():  # nobody else was faster
            made.rename(target)
        _put_aside({*_kept(home)} - {target}, scratch)
    return target


def remove(home: Path) -> bool:
    """Delete whatever is compiled in `home`; False if nothing was."""
    found = _kept(home)
    if found:
        with tempfile.TemporaryDirectory(dir=home, prefix=".rules-") as scratch:
            _put_aside(found, scratch)
    return bool(found)


def _kept(home: Path) -> list[Path]:
    return sorted(home.glob(f"{_PREFIX}*"))


def _put_aside(found: Iterable[Path], scratch: str) -> None:
    """At once: what is half deleted can't be imported."""
    for path in found:
        path.rename(Path(scratch) / path.name)


def _name(tree: Path) -> str:
    """Names sources, interpreter, and how this module compiles."""
    digest = hashlib.sha256(str(sysconfig.get_config_var("SOABI")).encode())
    digest.update(Path(__file__).read_bytes())
    for path in sorted((tree / _RULES).rglob("[!.]*.py")):
        digest.update(str(path.relative_to(tree)).encode())
        digest.update(path.read_bytes())
    return f"{_PREFIX}{digest.hexdigest()[:_NAME_CHARS]}"


def _taking(compiled: Path) -> dict[str, str]:
    others = filter(None, os.environ.get(_PATH, "").split(os.pathsep))
    return {_PATH: os.pathsep.join([str(compiled), str(ROOT), *others]), _SAFE_PATH: "1"}


def _require_tools(home: Path) -> None:
    if os.pathsep in str(home):
        message = f"{home}: compiled rules can't lie below a path with {os.pathsep!r}"
        raise StackError(message)
    if find_spec("mypyc") is None:
        message = "mypy is missing: its compiler makes machine code of the rules"
        raise MissingPrerequisite(message, repair="make install")
    require(COMPILER)
    header = Path(sysconfig.get_path("include")) / "Python.h"
    if not header.is_file():
        message = f"{header} is missing: compiled rules need it"
        raise MissingPrerequisite(message, repair=_HEADERS)


def _build(tree: Path) -> None:
    """Compile in place, by a process of its own that no setting of the caller's mypy reaches."""
    rules = tree / _RULES
    left_out = {path for pattern in _INTERPRETED for path in rules.glob(pattern)}
    sources = sorted(str(path.relative_to(tree)) for path in {*rules.rglob("*.py")} - left_out)
    options = {"MYPYC_OPT_LEVEL": "3", "MYPYC_DEBUG_LEVEL": "0"}
    _run(["-m", "mypyc", "--config-file=", *sources], tree, options)
    for left in ("build", ".mypy_cache"):
        shutil.rmtree(tree / left)


def _try(compiled: Path) -> None:
    """Load what was made before any worker does."""
    _run(["-c", _LOAD], compiled, _taking(compiled))


def _run(arguments: Iterable[str], tree: Path, variables: dict[str, str]) -> None:
    mine = {_PATH, _SAFE_PATH, "MYPYPATH"}
    inherited = {name: text for name, text in os.environ.items() if name not in mine}
    done = subprocess.run(  # noqa: S603 -- this interpreter, our files
        [sys.executable, *arguments],
        cwd=tree,
        env=inherited | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        said = (done.stdout + done.stderr)[-_SAID_CHARS:]
        message = f"the rules could not be compiled:\n{said}"
        raise StackError(message)

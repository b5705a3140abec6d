"""Compiled rules: the files of `inventory/` as machine code, made by mypyc.

The statements are those of the sources. `native_values` adds constructors to value classes.

Every process would import compiled files that lie beside the sources. So they are in the home of
the stack whose workers use them, in a directory named by a hash of the sources. After a change of a
source, workers run the sources until an operator compiles again. Recomputations always run the
sources, so each `backfill verify` beside compiled workers compares the two.
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

from deploy import native_values
from deploy.artifacts.prerequisites import COMPILER, require
from deploy.errors import MissingPrerequisite, StackError

ROOT: Final = Path(__file__).resolve().parents[1]
COMPILE: Final = "inventory workers compile"
_RULES: Final = "inventory"
# `value.py` makes the value classes with bases, which stay interpreted. Columns of `record.py` hold
# values of any type, for which mypyc has no slot. The ring's members would lose their shared
# memory, without any gain. Explanations are for pages only.
_INTERPRETED: Final = (
    "model/value.py",
    "model/record.py",
    "log/dedupe.py",
    "explain/*.py",
    "**/__init__.py",
)
_PREFIX: Final = "rules-"
_NAME_CHARS: Final = 16
_OUTPUT_CHARS: Final = 2_000
_PATH: Final = "PYTHONPATH"
_SAFE_PATH: Final = "PYTHONSAFEPATH"  # without it Python imports from the working directory first
_HEADERS: Final = "sudo apt-get install -y python3-dev"
_LOAD: Final = """
from streams.rules import are_compiled
raise SystemExit(None if are_compiled() else "Python loads other rules than the compiled ones")
"""


def directory(home: Path) -> Path:
    """Return the directory in `home` for the compiled form of exactly these sources."""
    return home / _name(ROOT)


def present(home: Path) -> Path | None:
    """Return the compiled rules of this code in `home`, or None."""
    found = directory(home)
    return found if found.is_dir() else None


def is_stale(home: Path) -> bool:
    """Return True if `home` only holds rules compiled from other sources."""
    return bool(_kept(home)) and present(home) is None


def environment(home: Path) -> dict[str, str]:
    """Return the variables that make a child process import the compiled rules.

    Empty without compiled rules, and if the home can't be read: the sources always work.
    """
    try:
        found = present(home)
    except OSError:
        return {}
    return {} if found is None else _import_variables(found)


def ensure(home: Path) -> Path:
    """Return the compiled rules. Compile them first if they are missing (half a minute).

    Rules compiled from other sources are deleted.

    Raises:
        StackError: a tool for compiling is missing, or mypyc refuses a source.
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
        target = home / _name(made)  # hash of the copy: a source may change meanwhile
        _build(made)
        _check_that_it_loads(made)
        if not target.exists():  # no other process was faster
            made.rename(target)
        _move_away({*_kept(home)} - {target}, scratch)
    return target


def remove(home: Path) -> bool:
    """Delete all compiled rules in `home`. Return False if there were none."""
    found = _kept(home)
    if found:
        with tempfile.TemporaryDirectory(dir=home, prefix=".rules-") as scratch:
            _move_away(found, scratch)
    return bool(found)


def _kept(home: Path) -> list[Path]:
    return sorted(home.glob(f"{_PREFIX}*"))


def _move_away(found: Iterable[Path], scratch: str) -> None:
    """Rename the directories first, so that no process imports a half-deleted one."""
    for path in found:
        path.rename(Path(scratch) / path.name)


def _name(tree: Path) -> str:
    """Return a name that depends on sources, interpreter and this module."""
    digest = hashlib.sha256(str(sysconfig.get_config_var("SOABI")).encode())
    for tool in (__file__, native_values.__file__):
        digest.update(Path(tool).read_bytes())
    for path in sorted((tree / _RULES).rglob("[!.]*.py")):
        digest.update(str(path.relative_to(tree)).encode())
        digest.update(path.read_bytes())
    return f"{_PREFIX}{digest.hexdigest()[:_NAME_CHARS]}"


def _import_variables(compiled: Path) -> dict[str, str]:
    others = filter(None, os.environ.get(_PATH, "").split(os.pathsep))
    return {_PATH: os.pathsep.join([str(compiled), str(ROOT), *others]), _SAFE_PATH: "1"}


def _require_tools(home: Path) -> None:
    if os.pathsep in str(home):
        message = f"{home}: compiled rules can't be in a path with {os.pathsep!r}"
        raise StackError(message)
    if find_spec("mypyc") is None:
        message = "mypy is missing: its compiler translates the rules into machine code"
        raise MissingPrerequisite(message, repair="make install")
    require(COMPILER)
    header = Path(sysconfig.get_path("include")) / "Python.h"
    if not header.is_file():
        message = f"{header} is missing: compiled rules need it"
        raise MissingPrerequisite(message, repair=_HEADERS)


def _build(tree: Path) -> None:
    """Compile in place, in a separate process without the caller's mypy settings.

    The sources in `tree` get the constructors of their value classes first.
    """
    rules = tree / _RULES
    left_out = {path for pattern in _INTERPRETED for path in rules.glob(pattern)}
    compiled = {*rules.rglob("*.py")} - left_out
    for path in compiled:
        path.write_text(native_values.with_constructors(path.read_text()))
    sources = sorted(str(path.relative_to(tree)) for path in compiled)
    options = {"MYPYC_OPT_LEVEL": "3", "MYPYC_DEBUG_LEVEL": "0"}
    _run(["-m", "mypyc", "--config-file=", *sources], tree, options)
    for left in ("build", ".mypy_cache"):
        shutil.rmtree(tree / left)


def _check_that_it_loads(compiled: Path) -> None:
    """Load the compiled rules once before any worker does."""
    _run(["-c", _LOAD], compiled, _import_variables(compiled))


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
        output = (done.stdout + done.stderr)[-_OUTPUT_CHARS:]
        message = f"the rules could not be compiled, so workers run the sources:\n{output}"
        raise StackError(message)

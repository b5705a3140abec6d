"""Create `.venv` with the locked requirements: `python3 -m deploy.artifacts.install`.

Two slow steps have the same result for every clone, so they run once per machine. A cache keeps
their results:
- the environment of the installer (pip, setuptools, uv);
- the wheel of PySpark. The registry has only its source. If the registry forbids caching, uv would
  build the wheel again for each clone, and leave up to 1.4 GB of files each time.

This module runs before anything is installed, so it imports only Python's standard library.
"""

import hashlib
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from deploy.artifacts.caches import cache_root, uv_cache
from deploy.artifacts.machine_lock import machine_lock
from deploy.errors import StackError

PROJECT: Final = Path(__file__).resolve().parents[2]
LOCK: Final = PROJECT / "requirements/dev.txt"
INSTALLER: Final = PROJECT / "requirements/installer.txt"
VENV: Final = PROJECT / ".venv"
BUILT: Final = "pyspark"
# The content of PySpark's wheel depends on the lock entries of its source and of its build tool.
_DECIDING: Final = (BUILT, "setuptools")
_DIGEST: Final = "sha256"
# Repair of a damaged environment. Don't use `make clean`: it also deletes the data of the stack.
AGAIN: Final = f"cd {shlex.quote(str(PROJECT))} && rm -rf .venv && make install"
_NAME_CHARS: Final = 16
_PYTHON: Final = ((3, 11), (3, 13))  # oldest supported version, and the first one that is too new
_COMPLETE: Final = ".complete"
# Directories that are not compiled to bytecode: tests of libraries, packages that no process of a
# stack imports, and packages of machine code.
_NOT_COMPILED: Final = "/(tests?|lexers|locale|mypy|mypyc|pip|playwright|pyspark|setuptools)/"


def entries(lock: str) -> dict[str, str]:
    """Return a map from package name to lock entry. An entry is a requirement with its hashes."""
    found = re.split(r"\n(?=\S)", lock.strip())
    return {entry.split("==")[0]: entry for entry in found if "==" in entry}


def is_supported(python: tuple[int, ...]) -> bool:
    """Return True if the locks support this Python version."""
    return _PYTHON[0] <= python[:2] < _PYTHON[1]


def refuse_unsupported(python: tuple[int, ...]) -> None:
    """Raise `StackError` for a Python version that the locks don't support."""
    if not is_supported(python):
        seen = ".".join(map(str, python[:2]))
        message = f"this is Python {seen}; expected 3.11 or 3.12. Nothing was installed."
        raise StackError(message, repair="make demo PYTHON=python3.11")


def installer() -> Path:
    """Return the `bin` directory of the installer's environment (pip, setuptools, uv).

    Create the environment if this machine doesn't have it.

    Raises:
        StackError: the environment could not be created.
    """
    text = f"{sys.version} {sys.executable} {INSTALLER.read_text(encoding='utf-8')}"
    root = cache_root() / f"installer-{_name(text)}"
    with machine_lock("installer"):
        if not (root / _COMPLETE).exists():
            _print("making the installer's environment, once for this machine")
            _run([sys.executable, "-m", "venv", "--clear", str(root)], {})
            pip = [str(root / "bin/python"), "-m", "pip", "install", "-q", "--require-hashes"]
            _run([*pip, "-r", str(INSTALLER)], {})
            (root / _COMPLETE).touch()
    return root / "bin"


def key(lock: str) -> str:
    """Return a hash of the lock entries on which the content of PySpark's wheel depends.

    The hash is part of the name of the directory that keeps the wheel.
    """
    locked = entries(lock)
    return _name("\n".join(locked[name] for name in _DECIDING))


def wheel(lock: str, programs: Path) -> Path:
    """Return PySpark's wheel. Build it from the locked source if this machine has none yet.

    `programs` is the directory of the installer's Python.

    Raises:
        StackError: the build failed.
    """
    target = cache_root() / f"{BUILT}-{key(lock)}"
    with machine_lock(BUILT):
        return _kept(target) or _build(entries(lock)[BUILT], target, programs)


def _kept(target: Path) -> Path | None:
    """Return PySpark's wheel from an earlier build, or None if it is missing or was changed."""
    found = next(target.glob("*.whl"), None)
    if found is None or not (target / _DIGEST).exists():
        return None
    expected = (target / _DIGEST).read_text(encoding="ascii")
    return found if _sha256(found) == expected else None


def _build(entry: str, target: Path, programs: Path) -> Path:
    _print(f"building {entry.split(maxsplit=1)[0]} from source, once for this machine")
    target.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".build-") as scratch:
        wanted = Path(scratch) / "wanted.txt"
        wanted.write_text(entry + "\n", encoding="utf-8")
        # Without isolation, pip builds the wheel with the locked setuptools of the installer's
        # environment.
        command = [str(programs / "python"), "-m", "pip", "wheel", "-q", "--no-deps"]
        command += [
            "--no-build-isolation",
            "--require-hashes",
            "--no-cache-dir",
            "-r",
            str(wanted),
            "-w",
            scratch,
        ]
        _run(command, {"TMPDIR": scratch})
        built = next(Path(scratch).glob("*.whl"))
        digest, kept = _sha256(built), target / built.name
        built.replace(kept)
    (target / _DIGEST).write_text(digest, encoding="ascii")
    return kept


def requirements(lock: str, built: Path) -> str:
    """Return the text of `lock` with the wheel `built` in place of PySpark's source.

    Every entry has a hash.
    """
    locked = entries(lock)
    locked[BUILT] = f"{BUILT} @ {built.as_uri()} --hash=sha256:{_sha256(built)}"
    return "\n".join(locked.values()) + "\n"


def install() -> None:
    """Install everything that `requirements/dev.txt` locks, then this project."""
    refuse_unsupported(sys.version_info[:2])
    lock, programs = LOCK.read_text(encoding="utf-8"), installer()
    cache, python = uv_cache(), str(VENV / "bin/python")
    extra = {"UV_CACHE_DIR": str(cache)} if cache else {}
    uv = str(programs / "uv")
    if not (VENV / "bin/python").exists():
        _run([uv, "venv", "-q", "--clear", "--python", sys.executable, str(VENV)], extra)
    into = [uv, "pip", "install", "-q", "--python", python]
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as wanted:
        wanted.write(requirements(lock, wheel(lock, programs)))
        wanted.flush()
        _run([*into, "--require-hashes", "-r", wanted.name], extra)
    _run([*into, "--no-deps", "--no-build-isolation", "-e", str(PROJECT)], extra)
    for link in VENV.glob("lib/python*/site-packages/__editable__*.pth"):
        # Python 3.11 decodes a .pth file by the locale. With LC_ALL=C it can read only ASCII, so
        # write the relative path: the absolute one may have other letters.
        link.write_text(os.path.relpath(PROJECT, link.parent) + "\n", encoding="ascii")
    # Store bytecode now. A process that may not write to .venv would compile its imports at each
    # start.
    compiling = [python, "-m", "compileall", "-q", "-j", "0", "-x", _NOT_COMPILED]
    _run([*compiling, *map(str, VENV.glob("lib/python*/site-packages"))], {})


def _name(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_NAME_CHARS]


def _sha256(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _run(command: Sequence[str], extra: Mapping[str, str]) -> None:
    result = subprocess.run(  # noqa: S603 -- fixed tools
        command,
        env=os.environ | {"LC_ALL": "C.UTF-8"} | dict(extra),
        cwd=PROJECT,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if result.returncode:
        output = (result.stderr or result.stdout)[-1500:].strip()
        message = f"{Path(command[0]).name} failed: {output}\nThe earlier installation was kept."
        raise StackError(message, repair="make install")


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        install()
    except StackError as failure:
        sys.stderr.write(f"error: {failure}\nrepair: {failure.repair}\n")
        sys.exit(failure.exit_code)

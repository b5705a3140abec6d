"""Installs the locked requirements and this project: `python -m deploy.artifacts.install`.

PySpark is published as source only. Its wheel is built once per machine, because uv builds it again
for each clone where the registry allows no caching, and leaves up to 1.4 GB behind each time.
This module runs before any requirement is installed, so it imports nothing else than Python's own.
"""

import fcntl
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from deploy.artifacts.caches import cache_root, uv_cache
from deploy.errors import StackError

PROJECT: Final = Path(__file__).resolve().parents[2]
LOCK: Final = PROJECT / "requirements/dev.txt"
BUILT: Final = "pyspark"
# What decides how the wheel comes out: the source, named by its hash, and what builds it.
_DECIDING: Final = (BUILT, "setuptools")
_DIGEST: Final = "sha256"
_NAME_CHARS: Final = 16


def entries(lock: str) -> dict[str, str]:
    """Return each requirement of a lock file by name, with its hashes."""
    found = re.split(r"\n(?=\S)", lock.strip())
    return {entry.split("==")[0]: entry for entry in found if "==" in entry}


def key(lock: str) -> str:
    """Return the name of the wheel that `lock` gives."""
    locked = entries(lock)
    text = "\n".join(locked[name] for name in _DECIDING)
    return hashlib.sha256(text.encode()).hexdigest()[:_NAME_CHARS]


def wheel(lock: str) -> Path:
    """Return PySpark's wheel, built from the locked source if this machine has none yet.

    Raises:
        StackError: it could not be built.
    """
    target = cache_root() / f"{BUILT}-{key(lock)}"
    target.parent.mkdir(parents=True, exist_ok=True)
    # Two clones that are installed at the same time build it once.
    with (target.parent / f".{BUILT}.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        return _kept(target) or _build(entries(lock)[BUILT], target)


def _kept(target: Path) -> Path | None:
    """Return the wheel that an earlier installation built, if it is unchanged."""
    found = next(target.glob("*.whl"), None)
    if found is None or not (target / _DIGEST).exists():
        return None
    expected = (target / _DIGEST).read_text(encoding="ascii")
    return found if _sha256(found) == expected else None


def _build(entry: str, target: Path) -> Path:
    _say(f"building {entry.split(maxsplit=1)[0]} from source, once for this machine")
    target.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".build-") as scratch:
        wanted = Path(scratch) / "wanted.txt"
        wanted.write_text(entry + "\n", encoding="utf-8")
        # Without isolation the locked setuptools of this environment builds it.
        command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
        command += ["--require-hashes", "--no-cache-dir", "-r", str(wanted), "-w", scratch]
        _run(command, {"TMPDIR": scratch})
        built = next(Path(scratch).glob("*.whl"))
        digest, kept = _sha256(built), target / built.name
        built.replace(kept)
    (target / _DIGEST).write_text(digest, encoding="ascii")
    return kept


def requirements(lock: str, built: Path) -> str:
    """Return the lock with the built wheel in place of its source; every entry keeps a hash."""
    locked = entries(lock)
    locked[BUILT] = f"{BUILT} @ {built.as_uri()} --hash=sha256:{_sha256(built)}"
    return "\n".join(locked.values()) + "\n"


def install() -> None:
    """Install everything that `requirements/dev.txt` locks, then this project."""
    lock = LOCK.read_text(encoding="utf-8")
    cache = uv_cache()
    extra = {"UV_CACHE_DIR": str(cache)} if cache else {}
    uv = [str(Path(sys.executable).with_name("uv")), "pip", "install", "-q"]
    uv += ["--python", sys.executable]
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as wanted:
        wanted.write(requirements(lock, wheel(lock)))
        wanted.flush()
        # Compiled once: where Python may write no bytecode, each process would do it again.
        _run([*uv, "--require-hashes", "--compile-bytecode", "-r", wanted.name], extra)
    _run([*uv, "--no-deps", "--no-build-isolation", "-e", str(PROJECT)], extra)


def _sha256(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _run(command: Sequence[str], extra: Mapping[str, str]) -> None:
    result = subprocess.run(  # noqa: S603 -- fixed tools
        command,
        env=os.environ | dict(extra),
        cwd=PROJECT,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if result.returncode:
        said = (result.stderr or result.stdout)[-1500:].strip()
        message = f"{Path(command[0]).name} failed: {said}\nWhat was installed before is kept."
        raise StackError(message, repair="make install")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        install()
    except StackError as failure:
        sys.stderr.write(f"error: {failure}\nrepair: {failure.repair}\n")
        sys.exit(failure.exit_code)

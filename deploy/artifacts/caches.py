"""Directories for files that this machine fetches or builds once, for all clones of the project."""

import os
import pwd
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from deploy.errors import StackError

_NAME: Final = "retail-inventory"
_PROJECT: Final = Path(__file__).resolve().parents[2]


def cache_root() -> Path:
    """Return this account's directory for files that all clones share.

    If `INVENTORY_CACHE` is set, it is the directory. Otherwise, return the first writable one of
    these:
    * the account's cache directory;
    * a directory below `/var/tmp`, because `HOME` may be unset or read-only;
    * a directory in this clone.

    Raises:
        StackError: none of these directories is writable.
    """
    explicit = os.environ.get("INVENTORY_CACHE")
    if explicit:
        return Path(explicit)
    candidates = tuple(_candidates())
    for candidate in candidates:
        if _can_be_ours(candidate):
            return candidate
    tried = ", ".join(map(str, candidates))
    message = f"no directory for the cache is writable (tried: {tried}); nothing was fetched"
    raise StackError(message, repair='INVENTORY_CACHE="$(mktemp -d)" make demo')


def maven_repository() -> Path | None:
    """Return a directory for Maven's downloads, or None if Maven can use its default `~/.m2`.

    If `~/.m2` isn't writable, the returned directory is below `cache_root`.
    """
    home = _home_of_account()
    if home is not None and _is_directory(home) and _can_be_ours(home / ".m2"):
        return None
    return cache_root() / "maven"


def uv_cache() -> Path | None:
    """Return a cache directory for uv below `cache_root`.

    Return None if `UV_CACHE_DIR` is set, or if uv's default directory is writable.
    """
    if os.environ.get("UV_CACHE_DIR") or any(_in_home()):
        return None
    return cache_root() / "uv"


def _candidates() -> Iterator[Path]:
    yield from (base / _NAME for base in _in_home())
    yield Path(f"/var/tmp/{_NAME}-{os.getuid()}")  # noqa: S108 -- `_can_be_ours` checks its owner
    yield _PROJECT / ".inventory-cache"


def _in_home() -> Iterator[Path]:
    """Yield the account's writable cache directories: `XDG_CACHE_HOME` and `~/.cache`."""
    explicit, home = os.environ.get("XDG_CACHE_HOME"), os.environ.get("HOME")
    found = [Path(explicit)] if explicit and Path(explicit).is_absolute() else []
    found += [Path(home) / ".cache"] if home and _is_directory(Path(home)) else []
    yield from (path for path in found if _can_be_ours(path))


def _home_of_account() -> Path | None:
    """Return the home directory of the account's system entry, or None. Java ignores `HOME`."""
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return None


def _is_directory(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except OSError:
        return False


def _can_be_ours(path: Path) -> bool:
    """Return True if `path` is a writable directory of this account. Create it if it is missing.

    Return False for a directory of another account. Any account may create directories in
    `/var/tmp`, so such a directory could hold files of an attacker.
    """
    try:
        path.mkdir(mode=0o755, parents=True, exist_ok=True)
        if path.stat().st_uid != os.getuid():
            return False
        with tempfile.TemporaryFile(dir=path):
            return True
    except OSError:
        return False

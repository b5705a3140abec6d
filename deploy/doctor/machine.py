"""Checks of the machine, which need no running stack."""

import getpass
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from deploy.artifacts import fetch, install
from deploy.artifacts.prerequisites import (
    HEADLESS,
    JAVA,
    JAVA_AT_LEAST,
    MAVEN,
    SETPRIV,
    Program,
    as_root,
    find,
    java_major,
    java_version,
)
from deploy.doctor.disk import disk
from deploy.doctor.failures import Failure
from deploy.doctor.row import Row, ok
from deploy.errors import StackError
from deploy.stack.home import Home
from deploy.stack.room import existing
from deploy.stack.runtime import UP, read_runtime
from deploy.stack.services import postgres_programs
from inventory.explain.formatting import counted_text

_MEMORY_GB: Final = 3.0
_GB: Final = 1024**3


def python(_home: Home) -> Row:
    """Check that Python has a version that the lock files support."""
    found = sys.version.split()[0]
    if install.is_supported(sys.version_info[:2]):
        return ok("python", found)
    apt = as_root("apt-get install -y python3.11 python3.11-venv")
    return Failure.OTHER_PYTHON.row(found, apt=apt, again=install.AGAIN)


def java(_home: Home) -> Row:
    """Check that a Java is installed, and that its version is new enough for broker and Connect."""
    path = find(JAVA)
    if path is None:
        return Failure.NO_JAVA.row("missing", repair=JAVA.repair)
    if java_major(path) >= JAVA_AT_LEAST:
        return ok("java", java_version(path))
    # A Java in JAVA_HOME takes precedence over the one that the repair installs.
    first = "unset JAVA_HOME && " if os.environ.get("JAVA_HOME") else ""
    return Failure.OLD_JAVA.row(java_version(path), first=first, repair=JAVA.repair)


def _program(program: Program, *, mild: bool) -> Callable[[Home], Row]:
    def check(_home: Home) -> Row:
        path = find(program)
        if path is not None:
            return ok(program.name, path)
        kind = Failure.NO_OPTIONAL_PROGRAM if mild else Failure.NO_PROGRAM
        found = f"missing: it {program.purpose}"
        return kind.row(found, name=program.name, repair=program.repair)

    return check


def jvm_parts(_home: Home) -> Row:
    """Check that broker, Connect and Debezium are fetched and unchanged."""
    parts = fetch.present()
    if parts is None:
        return Failure.NO_JVM_PARTS.row("not downloaded")
    try:
        fetch.verify(parts.root)
    except fetch.ChecksumMismatch as error:
        return Failure.CHANGED_JVM_PARTS.row(str(error), root=shlex.quote(str(parts.root)))
    return ok("jvm parts", f"{counted_text(len(fetch.read_list()), 'file')} verified")


def postgres_binaries(_home: Home) -> Row:
    """Check that the account under which Postgres runs here can execute Postgres' programs.

    If the account can't reach this clone, the check makes a copy of the programs, as `inventory up`
    does. The row fails if the account can't execute a copy either. Then it has the repair command
    that `inventory up` would print.
    """
    try:
        found = postgres_programs.ensure()
    except StackError as error:
        return Failure.POSTGRES_PROGRAMS.row(str(error), repair=error.repair)
    return ok("postgres binaries", str(found))


def memory(home: Home) -> Row:
    """Check that 3 GiB of memory are available for a stack. A running stack always passes."""
    lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
    kilobytes = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    available = kilobytes * 1024 / _GB
    found = f"{available:.1f} GB available; the stack needs up to {_MEMORY_GB:.0f} GB"
    # A running stack has its memory already, so less may be available.
    if available >= _MEMORY_GB or read_runtime(home).running:
        return ok("memory", found)
    return Failure.LITTLE_MEMORY.row(found, repair=f"{UP} --workers 1")


def settings(home: Home) -> Row:
    """Check that this account can write to the home."""
    where = existing(home.path)
    if os.access(where, os.W_OK):
        return ok("home", str(home.path))
    found = f"{home.path}: {where} is not writable for {getpass.getuser()}"
    return Failure.CLOSED_HOME.row(found, repair=_opened(home, where))


def _opened(home: Home, where: Path) -> str:
    """Return a command after which this account can write to the home.

    If the home doesn't exist, return instead a command that starts a stack in another home.
    """
    if not home.path.exists():
        own = shlex.quote(str(Path.home() / ".retail-inventory"))
        return f"export INVENTORY_HOME={own} && {UP}"
    place = shlex.quote(str(where))
    if where.stat().st_uid == os.geteuid():
        return f"chmod u+rwx {place}"
    return as_root(f"chown {os.geteuid()} {place}")


CHECKS: Final = (
    python,
    java,
    _program(MAVEN, mild=True),
    _program(SETPRIV, mild=False),
    _program(HEADLESS, mild=True),
    postgres_binaries,
    jvm_parts,
    memory,
    disk,
    settings,
)

"""Checks of the machine: they need no running stack."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from deploy import compiled_rules
from deploy.artifacts import fetch
from deploy.artifacts.prerequisites import (
    CHROMIUM,
    JAVA,
    JAVA_AT_LEAST,
    MAVEN,
    SETPRIV,
    Program,
    find,
    java_major,
    java_version,
)
from deploy.doctor.disk import disk
from deploy.doctor.row import Row, judge
from deploy.errors import StackError
from deploy.stack.home import Home
from deploy.stack.services import postgres_programs

_PYTHON: Final = ((3, 11), (3, 13))
_MEMORY_GB: Final = 3.0
_GB: Final = 1024**3


def python(_home: Home) -> Row:
    """Python is one that the locks were made for."""
    version = sys.version_info[:2]
    return judge(
        "python",
        well=_PYTHON[0] <= version < _PYTHON[1],
        found=sys.version.split()[0],
        repair="sudo apt-get install -y python3.11 python3.11-venv && make clean install",
    )


def java(_home: Home) -> Row:
    """Java runs the broker and Connect."""
    path = find(JAVA)
    if path is None:
        return Row("java", "failure", "missing", JAVA.repair)
    return judge(
        "java",
        well=java_major(path) >= JAVA_AT_LEAST,
        found=java_version(path),
        repair=JAVA.repair,
    )


def _program(program: Program, *, mild: bool) -> Callable[[Home], Row]:
    def check(_home: Home) -> Row:
        path = find(program)
        found = path or f"missing: {program.purpose}"
        name = program.name
        return judge(name, well=path is not None, found=found, repair=program.repair, mild=mild)

    return check


def jvm_parts(_home: Home) -> Row:
    """Broker, Connect and Debezium are fetched and unchanged."""
    parts = fetch.present()
    if parts is None:
        return Row("jvm parts", "failure", "not fetched", "inventory fetch")
    try:
        fetch.verify(parts.root)
    except fetch.ChecksumMismatch as error:
        return Row("jvm parts", "failure", str(error), f"rm -rf {parts.root} && inventory fetch")
    return Row("jvm parts", "ok", f"{len(fetch.read_list())} files verified")


def postgres_binaries(_home: Home) -> Row:
    """Postgres' programs run as the account that Postgres gets here.

    A start copies them where the account can't reach this clone. The row fails where neither the
    programs nor a copy can be run; its repair is the one that the start prints.
    """
    try:
        found = postgres_programs.ensure()
    except StackError as error:
        return Row("postgres binaries", "failure", str(error), error.repair)
    return Row("postgres binaries", "ok", str(found))


def memory(_home: Home) -> Row:
    """The demo stack needs about 3 GB."""
    lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
    kilobytes = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    available = kilobytes * 1024 / _GB
    return judge(
        "memory",
        well=available >= _MEMORY_GB,
        found=f"{available:.1f} GB available, the stack takes up to {_MEMORY_GB:.0f}",
        repair="inventory up --workers 1",
        mild=True,
    )


def rules(home: Home) -> Row:
    """Workers run the sources, or machine code of exactly these."""
    is_left = compiled_rules.left_behind(home.path)
    form = "machine code" if compiled_rules.present(home.path) else "the sources"
    found = "the sources: what is compiled is of others" if is_left else form
    return judge(
        "form of rules",
        well=not is_left,
        found=f"a worker that starts now runs {found}",
        repair=f"{compiled_rules.COMPILE} && inventory workers restart --rolling",
        mild=True,
    )


def settings(home: Home) -> Row:
    """The home is ours to write."""
    where = next(path for path in (home.path, *home.path.parents) if path.exists())
    writable = os.access(where, os.W_OK)
    return judge(
        "home", well=writable, found=str(home.path), repair="INVENTORY_HOME=$PWD/.inventory …"
    )


CHECKS: Final = (
    python,
    java,
    _program(MAVEN, mild=True),
    _program(SETPRIV, mild=False),
    _program(CHROMIUM, mild=True),
    postgres_binaries,
    jvm_parts,
    memory,
    disk,
    rules,
    settings,
)

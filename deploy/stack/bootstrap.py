"""Create roles, database and schemas, and run Django's migrations. Each step is idempotent."""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow

from deploy.errors import StackError
from deploy.parts import DATABASE, SCHEMAS, SEARCH_PATH
from deploy.stack.context import Context
from deploy.stack.home import PROJECT

OWNER: Final = "retail_owner"
# The roles and their attributes. `cdc` may replicate, owns no table and is no superuser. A
# migration lets it read the captured tables.
ROLES: Final = {
    OWNER: "LOGIN",
    "app_rw": "LOGIN",
    "sink_rw": "LOGIN",
    "archiver": "LOGIN",
    "app_ro": "LOGIN",
    "cdc": "LOGIN REPLICATION",
}


@dataclass(frozen=True, slots=True)
class Server:
    """A Postgres server to set up.

    `maintenance_url` and `database_url` are for the superuser: the first for the database
    `postgres`, the second for the project's database. `passwords` has the password of each role.
    """

    maintenance_url: str = field(repr=False)
    database_url: str = field(repr=False)
    owner_url: str = field(repr=False)
    passwords: Mapping[str, str] = field(repr=False)


def server_of(context: Context) -> Server:
    """Return the Postgres server of the local stack."""
    return Server(
        maintenance_url=context.database_url("postgres", "postgres"),
        database_url=context.database_url("postgres"),
        owner_url=context.database_url(OWNER),
        passwords=context.secrets,
    )


def create_database(target: Server) -> None:
    """Create the roles with their passwords, the database and its schemas, if they are missing.

    The passwords of existing roles are set, too.
    """
    with psycopg.connect(target.maintenance_url, autocommit=True) as server:
        existing = {row[0] for row in server.execute("SELECT rolname FROM pg_roles")}
        for role, attributes in ROLES.items():
            verb = "ALTER" if role in existing else "CREATE"
            server.execute(
                sql.SQL("{} ROLE {} {} PASSWORD {}").format(
                    sql.SQL(verb),
                    sql.Identifier(role),
                    sql.SQL(attributes),
                    sql.Literal(_verifier(server, role, target.passwords[role])),
                )
            )
        found = server.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,))
        if found.fetchone() is None:
            server.execute(
                sql.SQL("CREATE DATABASE {} OWNER {}").format(
                    sql.Identifier(DATABASE), sql.Identifier(OWNER)
                )
            )
    _create_schemas(target)


def _verifier(server: psycopg.Connection[TupleRow], role: str, password: str) -> str:
    """Return the verifier of a password: the hash that Postgres stores.

    `CREATE ROLE` and `ALTER ROLE` get the verifier instead of the password, because a server may
    log statements.
    """
    return server.pgconn.encrypt_password(
        password.encode(), role.encode(), b"scram-sha-256"
    ).decode()


def _create_schemas(target: Server) -> None:
    database = sql.Identifier(DATABASE)
    with psycopg.connect(target.database_url, autocommit=True) as connection:
        for role in ROLES:
            name = sql.Identifier(role)
            connection.execute(sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(database, name))
            if role != "cdc":
                connection.execute(
                    sql.SQL("ALTER ROLE {} IN DATABASE {} SET search_path = {}").format(
                        name, database, sql.SQL(SEARCH_PATH)
                    )
                )
        for schema in SCHEMAS:
            connection.execute(
                sql.SQL("CREATE SCHEMA IF NOT EXISTS {} AUTHORIZATION {}").format(
                    sql.Identifier(schema), sql.Identifier(OWNER)
                )
            )


def migrate(target: Server, environment: Mapping[str, str], log: Path) -> None:
    """Apply Django's migrations as the owner of the tables. Write the output to `log`."""
    owner = {**environment, "INVENTORY_OWNER_DATABASE_URL": target.owner_url}
    run_module("webui.manage", "migrate", "--no-input", environment=owner, log=log)


def seed(context: Context) -> None:
    """Write the demo retailer unless it exists already. A separate process writes it."""
    log = context.home.log_of("seed")
    run_module("deploy.stack.seed", environment=context.environment("seed"), log=log)


def run_module(module: str, *arguments: str, environment: Mapping[str, str], log: Path) -> None:
    """Run a module of this project until it ends. Write its output to `log`.

    Raises:
        StackError: the module failed. The message has the last 1500 characters of `log`.
    """
    with log.open("wb") as output:
        result = subprocess.run(  # noqa: S603 -- our own modules
            [sys.executable, "-m", module, *arguments],
            env=dict(environment),
            cwd=PROJECT,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if result.returncode:
        tail = log.read_text(encoding="utf-8", errors="replace")[-1500:]
        message = f"{' '.join((module, *arguments))} failed, see {log}:\n{tail}"
        raise StackError(message, repair=f"inventory logs {log.stem}")

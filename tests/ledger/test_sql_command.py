"""`inventory sql` gives analysts read-only access to Postgres without showing a password."""

import csv
import io
import json
import os
import re
import socket
import stat
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner, Result

from deploy.cli.main import app
from deploy.errors import StackError
from deploy.stack.home import PROJECT, Home
from deploy.stack.processes import identify
from deploy.stack.runtime import Runtime, write_environment, write_runtime
from tests.ledger.postgres import Server
from tests.ledger.rows import write


@dataclass(frozen=True)
class Reader:
    """Runs `inventory sql` as a person at a terminal of a running stack."""

    home: Home

    def sql(self, *arguments: str) -> Result:
        environment = {"INVENTORY_HOME": str(self.home.path), "COLUMNS": "200"}
        return CliRunner().invoke(app, ["sql", *arguments], env=environment)


@pytest.fixture
def reader(server: Server, database: str, ledger: psycopg.Connection, tmp_path: Path) -> Reader:
    for units in (3, 4):
        write(ledger, "sale_line", source="t", source_ref=f"{units}", quantity_units=units)
    home = Home(tmp_path / "home")
    home.create()
    me = identify(os.getpid())
    runtime = Runtime(phase="ready", supervisor_pid=me.pid, supervisor_ticks=me.started)
    url = server.url("app_ro", database).replace("app_ro@", "app_ro:s3%3Acret@")
    write_environment(home, {"INVENTORY_READ_DATABASE_URL": url})
    write_runtime(home, runtime)
    return Reader(home)


def test_the_printed_address_opens_a_read_only_session(reader: Reader) -> None:
    address = reader.sql().stdout.strip()

    assert json.loads(reader.sql("--json").stdout) == {"address": address}
    with psycopg.connect(address) as connection:
        units = connection.execute("SELECT sum(quantity_units)::int FROM sale_line").fetchone()
        assert units == (7,)
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            connection.execute("DELETE FROM sale_line")


def test_the_password_is_in_a_file_of_the_owner_and_nowhere_else(reader: Reader) -> None:
    shown = reader.sql().stdout
    file = reader.home.path / "pgpass"

    assert "cret" not in shown
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text().endswith(":app_ro:s3\\:cret\n")


def test_rows_are_printed_as_table_csv_or_json(reader: Reader) -> None:
    asked = "SELECT quantity_units AS units FROM sale_line WHERE sku LIKE '%S' ORDER BY 1"

    table, written = reader.sql(asked).stdout, reader.sql(asked, "--csv").stdout
    found = json.loads(reader.sql(asked, "--json").stdout)

    assert table.split() == ["units", "3", "4"]
    assert list(csv.reader(io.StringIO(written))) == [["units"], ["3"], ["4"]]
    assert found == [{"units": 3}, {"units": 4}]


def test_json_has_decimals_as_numbers_and_every_column(reader: Reader) -> None:
    asked = "SELECT 1.5 AS price, ARRAY[2.5] AS steps"
    twice = reader.sql("SELECT 1 AS units, 2 AS units", "--json").exception

    assert json.loads(reader.sql(asked, "--json").stdout) == [{"price": 1.5, "steps": [2.5]}]
    assert isinstance(twice, StackError)
    assert str(twice).startswith("several columns have the name units: name each with AS")


def test_a_long_result_is_cut_in_the_table_and_complete_in_csv(reader: Reader) -> None:
    asked = "SELECT generate_series(1, 2500)"

    assert "200 rows, the first 200: --csv prints all" in reader.sql(asked).stderr
    assert len(reader.sql(asked, "--csv").stdout.splitlines()) == 2501


def test_sql_reports_an_empty_result_and_a_refused_statement(reader: Reader) -> None:
    refused = reader.sql("SELECT no_such_column FROM sale_line")

    assert "0 rows" in reader.sql("SET timezone = 'UTC'").stderr
    assert isinstance(refused.exception, StackError)
    problem = 'Postgres refused the statement: column "no_such_column" does not exist'
    assert problem in str(refused.exception)


def test_sql_reports_a_failed_connection_to_postgres(reader: Reader) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # bound but not listening, so connections are refused
        url = f"postgresql://app_ro@127.0.0.1:{bound.getsockname()[1]}/nowhere"
        write_environment(reader.home, {"INVENTORY_READ_DATABASE_URL": url})

        failed = reader.sql("SELECT 1").exception

    assert isinstance(failed, StackError)
    assert str(failed).startswith("no connection to Postgres, nothing was read: ")
    assert failed.repair == "inventory restart postgres"


def test_all_relations_named_on_the_analyst_page_can_be_read(reader: Reader) -> None:
    page = (PROJECT / "docs" / "roles" / "analyst.md").read_text(encoding="utf-8")
    section = page.split("## Facts in SQL")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]+`) \|", section, re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`([^`]+)`", row)]
    assert len(named) > 15

    for name in named:
        source = name.replace("key", "'L|S'").replace("instant", "now()")
        answer = reader.sql("SELECT count(*) FROM " + source)  # noqa: S608 -- names of our own page
        assert answer.exit_code == 0, (name, answer.exception)

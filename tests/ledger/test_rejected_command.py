"""`inventory rejected` lists rejected records, shows one completely and settles it."""

import base64
import json
import os
from getpass import getuser
from pathlib import Path

import psycopg
import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from cdc.contracts.rejects import MOST_BYTES, truncated
from deploy import output
from deploy.cli.main import app
from deploy.errors import StackError
from deploy.stack.home import Home
from deploy.stack.processes import identify
from deploy.stack.runtime import Runtime, write_environment, write_runtime
from tests.ledger import inbox
from tests.ledger.postgres import Server

BYTES = b"\x00\xffgarbage"


@pytest.fixture
def records(
    server: Server,
    database: str,
    ledger: psycopg.Connection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Home:
    """Return a home that looks like a running stack's. The read model has two rejected records."""
    home = Home(tmp_path)
    me = identify(os.getpid())
    runtime = Runtime(phase="ready", supervisor_pid=me.pid, supervisor_ticks=me.started)
    variables = {"INVENTORY_READ_DATABASE_URL": server.url("app_ro", database)}
    write_environment(home, variables)
    write_runtime(home, runtime)
    for name, value in {**variables, "INVENTORY_HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(output, "console", Console(width=200))
    inbox.emptied(ledger)
    inbox.rejected(ledger)
    inbox.rejected(ledger, id="1-0-8", offset=8, value=BYTES, reason="malformed", stage="decode")
    return home


def rejected(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["rejected", *arguments])


def ids(*arguments: str) -> list[str]:
    return [row["id"] for row in json.loads(rejected("list", "--json", *arguments).stdout)]


@pytest.mark.usefixtures("records")
def test_rejected_list_limits_rows_and_omits_settled_records_with_open() -> None:
    assert sorted(ids()) == ["1-0-7", "1-0-8"]
    assert len(ids("--limit", "1")) == 1

    settled = rejected("dismiss", "1-0-7", "--reason", "a test till")

    assert (settled.exit_code, settled.stdout) == (0, "dismissed 1-0-7\n")
    assert ids("--open") == ["1-0-8"]
    shown = rejected("list").stdout
    assert shown.startswith("2 rejected")
    assert "dismissed" in shown


@pytest.mark.usefixtures("records")
def test_rejected_show_prints_the_bytes_and_who_settled_the_record() -> None:
    rejected("dismiss", "1-0-8", "--reason", "line noise")

    found = json.loads(rejected("show", "1-0-8").stdout)

    assert base64.b64decode(found["value_base64"]) == BYTES
    assert (found["key"], found["value"]) == ("L|S", BYTES.decode("utf-8", "replace"))
    assert (found["settled"], found["settled_by"]) == ("dismissed", getuser())
    assert found["settled_because"] == "line noise"


@pytest.mark.usefixtures("records")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("show", "9-9-9"), "no rejected record '9-9-9': expected an id of `inventory rejected"),
        (("dismiss", "9-9-9", "--reason", "r"), "9-9-9"),
        (("dismiss", "1-0-7", "--reason", " "), "reason"),
    ],
)
def test_rejected_refuses_an_unknown_record_and_an_empty_reason(arguments, told) -> None:
    result = rejected(*arguments)

    assert result.exit_code == 1
    assert told in str(result.exception)


@pytest.mark.parametrize("further", [(), ("--yes",)])
def test_a_replay_is_offered_only_for_records_that_it_can_repair(
    records: Home, ledger: psycopg.Connection, further: tuple[str, ...]
) -> None:
    inbox.rejected(ledger, id="1-0-9", offset=9, reason="count_beyond_horizon")

    fine = rejected("replay", "1-0-7", "--reason", "now fits", "--json")
    useless = rejected("replay", "1-0-7", "1-0-9", "--reason", "now fits", *further)

    assert (fine.exit_code, json.loads(fine.stdout)[0]["instead"]) == (1, "")
    assert "To send, add --yes" in " ".join(fine.stderr.split())
    assert isinstance(useless.exception, StackError)
    assert str(useless.exception) == (
        "a replay can't repair the record. Nothing was sent. "
        "1-0-9 (count_beyond_horizon): count the item again. Then dismiss the record"
    )
    assert useless.exception.repair == (
        "inventory rejected dismiss 1-0-9 --reason 'not repairable by a replay'"
    )
    assert "--yes" not in useless.output
    inbox.rejected(ledger, id="1-0-10", offset=10, reason="malformed")
    several = rejected("replay", "1-0-9", "1-0-10", "--reason", "now fits", *further)
    assert str(several.exception) == (
        "a replay can't repair these records. Nothing was sent. "
        "1-0-9 (count_beyond_horizon): count the item again. "
        "1-0-10 (malformed): repair the program that wrote the record; if `inventory verify` names"
        " the item, begin a new generation of the log. Then dismiss these records"
    )
    assert ledger.execute("SELECT count(*) FROM app.rejected_mark").fetchone() == (0,)


@pytest.mark.parametrize("further", [(), ("--yes",)])
def test_a_truncated_record_is_never_replayed(
    records: Home, ledger: psycopg.Connection, further: tuple[str, ...]
) -> None:
    cut, _ = truncated(b'{"op":"c","before":null,"after":{"note":"%b"}}' % (b"x" * MOST_BYTES), "")
    inbox.rejected(ledger, id="1-0-9", offset=9, reason="limit", value=cut)

    refused = rejected("replay", "1-0-9", "--reason", "now fits", *further)

    assert isinstance(refused.exception, StackError)
    assert "1-0-9 (limit): repair the program that wrote the record" in str(refused.exception)
    assert ledger.execute("SELECT count(*) FROM app.rejected_mark").fetchone() == (0,)


def test_rejected_list_reports_a_stack_that_has_no_tables_yet(
    records: Home, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = server.url("app_ro", "postgres")
    write_environment(records, {"INVENTORY_READ_DATABASE_URL": empty})
    monkeypatch.setenv("INVENTORY_READ_DATABASE_URL", empty)

    with pytest.raises(StackError, match="no tables yet"):
        CliRunner().invoke(app, ["rejected", "list"], catch_exceptions=False)

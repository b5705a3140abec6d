# ruff: noqa: S608 -- ids of this file's own rows and literals
"""The action log's hash chain: changed, removed and inserted entries are found and named."""

import json
import threading
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner

from cdc.settings import Connections
from deploy.cli.main import app
from ledger.audit import chain, head
from ledger.audit.head import Head
from ledger.automation.heartbeat import keep_head
from ledger.kernel.transactions import ledger_transaction, log_action
from tests.ledger.postgres import Server

CHAIN_AGAIN = """
DO $$
DECLARE entry app.action_log;
BEGIN
    DELETE FROM app.action_chain;
    FOR entry IN SELECT * FROM app.action_log ORDER BY id LOOP
        PERFORM app.chain_entry(entry);
    END LOOP;
END $$
"""


@pytest.fixture
def entries(ledger: psycopg.Connection) -> list[int]:
    """Write five entries of the action log, one per transaction. Return their ids."""
    for number in range(5):
        with ledger_transaction():
            log_action(actor="ann", action="count", subject=f"L|{number}", detail={"units": number})
    return [int(row[0]) for row in ledger.execute("SELECT id FROM app.action_log ORDER BY id")]


def found(ledger: psycopg.Connection, outside: Head | None = None) -> list[tuple[object, ...]]:
    verdict = chain.verify(ledger, outside or Head())
    return [(each.place, each.action_id, each.found) for each in verdict.breaks]


def past_the_log(ledger: psycopg.Connection, statement: str) -> None:
    """Run a statement with triggers off, as an owner of the database could."""
    ledger.execute("SET session_replication_role = replica")
    try:
        ledger.execute(statement)
    finally:
        ledger.execute("SET session_replication_role = origin")


def test_verifying_an_unchanged_action_log_finds_no_break(ledger, entries) -> None:
    verdict = chain.verify(ledger, Head())

    assert verdict.breaks == ()
    assert verdict.head == head.newest(ledger)
    assert verdict.head.place == len(entries)


@pytest.mark.parametrize(
    "change",
    [
        "actor = 'eve'",
        "action = 'void'",
        "subject = 'L|9'",
        "detail = '{\"units\": 99}'",
        "at = at + interval '1 second'",
        "command_id = gen_random_uuid()",
    ],
)
def test_a_changed_action_log_entry_is_reported(ledger, entries, change: str) -> None:
    ledger.execute(f"UPDATE app.action_log SET {change} WHERE id = {entries[2]}")

    assert found(ledger) == [(3, entries[2], "the entry was changed")]


def test_a_deleted_action_log_entry_is_reported(ledger, entries) -> None:
    ledger.execute(f"DELETE FROM app.action_log WHERE id = {entries[1]}")

    assert found(ledger) == [(2, entries[1], "the entry was deleted")]


def test_a_deleted_entry_with_deleted_chain_row_is_reported_as_a_gap(ledger, entries) -> None:
    ledger.execute(f"DELETE FROM app.action_log WHERE id = {entries[1]}")
    ledger.execute(f"DELETE FROM app.action_chain WHERE action_id = {entries[1]}")

    assert found(ledger) == [(3, entries[2], "chain entries 2 to 2 are missing")]


def test_an_entry_inserted_without_the_trigger_is_reported(ledger, entries) -> None:
    past_the_log(ledger, "INSERT INTO app.action_log (action, subject) VALUES ('count', 'L|7')")
    new = entries[-1] + 1

    assert found(ledger) == [
        (None, new, "the entry is not in the chain: it was inserted without the log's trigger")
    ]


def test_a_rewritten_chain_row_breaks_the_link_of_the_next_row(ledger, entries) -> None:
    ledger.execute(f"UPDATE app.action_log SET actor = 'eve' WHERE id = {entries[2]}")
    ledger.execute(
        "UPDATE app.action_chain c SET hash = app.action_hash(c.place, c.previous, a)"
        " FROM app.action_log a WHERE a.id = c.action_id AND c.place = 3"
    )

    assert found(ledger) == [(4, entries[3], "the hash of its predecessor differs")]


def test_removed_last_entries_are_found_by_the_head_file_outside_postgres(ledger, entries) -> None:
    outside = head.newest(ledger)
    ledger.execute(f"DELETE FROM app.action_log WHERE id >= {entries[3]}")
    ledger.execute("DELETE FROM app.action_chain WHERE place >= 4")

    assert found(ledger) == []
    removed = "the chain ends at entry 3: later entries were removed"
    assert found(ledger, outside) == [(5, None, removed)]


def test_a_fully_rewritten_chain_is_found_by_the_head_file_outside_postgres(
    ledger, entries
) -> None:
    outside = head.newest(ledger)
    ledger.execute(f"UPDATE app.action_log SET actor = 'eve' WHERE id = {entries[0]}")
    ledger.execute(CHAIN_AGAIN)

    assert found(ledger) == []
    again = "the hash in the file outside of Postgres differs: the chain was written again"
    assert found(ledger, outside) == [(5, None, again)]


def test_simultaneous_transactions_write_one_chain_without_gaps(
    server: Server, database: str, ledger: psycopg.Connection
) -> None:
    def write(worker: int) -> None:
        with psycopg.connect(server.url("app_rw", database)) as connection:
            for number in range(25):
                connection.execute(
                    "INSERT INTO app.action_log (actor, action, subject) VALUES ('a', 'b', %s)",
                    [f"{worker}-{number}"],
                )
                if number % 5 == 4:
                    connection.rollback()
                else:
                    connection.commit()

    threads = [threading.Thread(target=write, args=(worker,)) for worker in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    verdict = chain.verify(ledger, Head())
    assert (verdict.breaks, verdict.head.place) == ((), 6 * 20)


def test_the_head_job_advances_the_head_file_but_not_over_a_damaged_chain(
    ledger, entries, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = Connections(home=tmp_path)
    keep_head(ledger, settings)
    first = head.kept(head.path_of(settings))
    ledger.execute("DELETE FROM app.action_chain WHERE place = 5")

    keep_head(ledger, settings)

    assert first.place == len(entries)
    assert head.kept(head.path_of(settings)) == first
    assert "audit_log_changed" in capsys.readouterr().out
    assert head.path_of(settings).stat().st_mode & 0o077 == 0


def test_audit_verify_reports_the_break_and_audit_accept_accepts_a_restore(
    server: Server, database: str, ledger, entries, tmp_path: Path, monkeypatch
) -> None:
    for name, text in (server.environment(database) | {"INVENTORY_HOME": str(tmp_path)}).items():
        monkeypatch.setenv(name, text)
    monkeypatch.setenv("INVENTORY_KAFKA_BOOTSTRAP", "127.0.0.1:1")
    keep_head(ledger, Connections())
    whole = CliRunner().invoke(app, ["audit", "verify"])
    ledger.execute("DELETE FROM app.action_chain WHERE place >= 4")
    ledger.execute(f"DELETE FROM app.action_log WHERE id >= {entries[3]}")

    cut = CliRunner().invoke(app, ["audit", "verify", "--json"])
    accepted = CliRunner().invoke(app, ["audit", "accept", "--reason", "restored from backup"])
    after = CliRunner().invoke(app, ["audit", "verify"])

    assert whole.exit_code == 0, whole.output
    assert cut.exit_code == 1
    assert json.loads(cut.stdout)["breaks"] == [
        {
            "place": 5,
            "action_id": None,
            "found": "the chain ends at entry 3: later entries were removed",
        }
    ]
    assert accepted.exit_code == 0, accepted.output
    assert after.exit_code == 0, after.output
    logged = ledger.execute("SELECT action, detail FROM app.action_log ORDER BY id DESC").fetchone()
    assert logged == ("audit_accepted", {"reason": "restored from backup", "outside": 5})

# ruff: noqa: S608 -- the names of tables and verbs are literals of this file
from datetime import timedelta

import psycopg
import pytest

from ledger.services import ServiceError, void_count
from tests.ledger.postgres import Server
from tests.ledger.rows import VALID, write
from webui.desks.counts.listing import history_page
from webui.shell.keyset import Place
from webui.shell.listing import Sort

UPDATABLE = [table for table in VALID if table != "price_change"]
CAPTURED = sorted(VALID)
PUBLISHED = sorted([*VALID, "product", "location", "supplier", "debezium_signal"])


@pytest.mark.parametrize("table", ["sale_line", "stock_adjustment", "item_location"])
def test_an_update_is_stamped_with_its_own_time(ledger: psycopg.Connection, table: str) -> None:
    row_id = write(ledger, table)
    query = f"SELECT recorded_at FROM retail.{table} WHERE id = %s"
    first = ledger.execute(query, [row_id]).fetchone()

    ledger.execute(f"UPDATE retail.{table} SET recorded_by = 'me' WHERE id = %s", [row_id])

    second = ledger.execute(query, [row_id]).fetchone()
    assert first is not None
    assert second is not None
    assert second[0] > first[0]


@pytest.mark.parametrize("table", UPDATABLE)
@pytest.mark.parametrize(
    "change", ["inv_key = location || '|2', sku = '2'", "id = id + 1000"], ids=["key", "id"]
)
def test_a_posted_row_keeps_its_id_and_key(
    ledger: psycopg.Connection, table: str, change: str
) -> None:
    # Write a count as a draft, because an approved count of this age can't be changed at all.
    row_id = write(ledger, table, **({"status": "draft"} if table == "stock_count" else {}))

    with pytest.raises(psycopg.errors.CheckViolation, match="keeps its id and key"):
        ledger.execute(f"UPDATE retail.{table} SET {change} WHERE id = %s", [row_id])


@pytest.mark.parametrize(
    "verb", ["UPDATE retail.price_change SET step = 1", "DELETE FROM retail.price_change"]
)
def test_a_price_is_never_changed_or_deleted(ledger: psycopg.Connection, verb: str) -> None:
    write(ledger, "price_change")

    with pytest.raises(psycopg.errors.CheckViolation, match="only ever inserted"):
        ledger.execute(verb)


@pytest.mark.parametrize(
    "verb",
    [
        "UPDATE retail.stock_count SET status = 'void'",
        "UPDATE retail.stock_count SET units = 6",
        "DELETE FROM retail.stock_count",
    ],
)
def test_an_approved_count_can_be_changed_for_48_hours_only(
    ledger: psycopg.Connection, verb: str
) -> None:
    now = ledger.execute("SELECT clock_timestamp()").fetchone()
    assert now is not None
    old = write(ledger, "stock_count", occurred_at=now[0] - timedelta(hours=48, seconds=1))
    young = write(ledger, "stock_count", occurred_at=now[0] - timedelta(hours=47, minutes=59))

    with pytest.raises(psycopg.errors.CheckViolation, match="older than 48 h"):
        ledger.execute(f"{verb} WHERE id = {old}")

    assert ledger.execute(f"{verb} WHERE id = {young}").rowcount == 1


def test_a_count_with_a_future_time_ages_from_its_recording_time(
    ledger: psycopg.Connection,
) -> None:
    count = write(ledger, "stock_count", occurred_at="2099-01-01 00:00+00")
    ledger.execute("SET session_replication_role = replica")  # the trigger would set `recorded_at`
    ledger.execute("UPDATE retail.stock_count SET recorded_at = now() - interval '48 h 1 s'")
    ledger.execute("SET session_replication_role = origin")

    for verb in ("UPDATE retail.stock_count SET status = 'void'", "DELETE FROM retail.stock_count"):
        with pytest.raises(psycopg.errors.CheckViolation, match="older than 48 h"):
            ledger.execute(f"{verb} WHERE id = {count}")
    with pytest.raises(ServiceError, match="older than 48 h"):
        void_count(count_id=count, reason="mistyped")
    page = history_page(Place(Sort("number")), location="L", sku="S")
    assert [row.is_voidable for row in page.rows] == [False]


def test_an_old_draft_is_not_approved_but_may_be_voided(till: psycopg.Connection) -> None:
    draft = write(till, "stock_count", status="draft")

    with pytest.raises(psycopg.errors.CheckViolation, match="count again"):
        till.execute(f"UPDATE retail.stock_count SET status = 'approved' WHERE id = {draft}")

    voided = till.execute(f"UPDATE retail.stock_count SET status = 'void' WHERE id = {draft}")
    assert voided.rowcount == 1


def test_a_young_count_cannot_be_backdated_beyond_48_hours(ledger: psycopg.Connection) -> None:
    now = ledger.execute("SELECT clock_timestamp()").fetchone()
    assert now is not None
    count = write(ledger, "stock_count", occurred_at=now[0])

    with pytest.raises(psycopg.errors.CheckViolation, match="older than 48 h"):
        ledger.execute(
            "UPDATE retail.stock_count SET occurred_at = %s WHERE id = %s",
            [now[0] - timedelta(days=3), count],
        )


def test_the_publication_carries_every_captured_table_with_full_identity(
    ledger: psycopg.Connection,
) -> None:
    published = ledger.execute(
        "SELECT tablename, relreplident::text FROM pg_publication_tables"
        " JOIN pg_class ON pg_class.oid = format('%I.%I', schemaname, tablename)::regclass"
        " WHERE pubname = 'retail_cdc' ORDER BY tablename"
    ).fetchall()

    assert published == [(table, "f") for table in PUBLISHED]


@pytest.mark.parametrize("role", ["app_rw", "app_ro", "cdc"])
def test_no_role_truncates_and_only_the_application_writes(
    server: Server, database: str, ledger: psycopg.Connection, role: str
) -> None:
    with psycopg.connect(server.url(role, database), autocommit=True) as connection:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("TRUNCATE retail.sale_line")
        if role == "app_rw":
            assert write(connection, "sale_line") > 0
        else:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                write(connection, "sale_line")
        assert connection.execute("SELECT count(*) FROM retail.sale_line").fetchone() is not None


def test_readers_never_see_password_hashes(server: Server, database: str) -> None:
    with (
        psycopg.connect(server.url("app_ro", database), autocommit=True) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute("SELECT password FROM app.auth_user")


def test_the_action_log_is_only_ever_appended(till: psycopg.Connection) -> None:
    till.execute("INSERT INTO app.action_log (action, subject) VALUES ('count', 'L|S')")

    for verb in ("UPDATE app.action_log SET actor = 'x'", "DELETE FROM app.action_log"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            till.execute(verb)

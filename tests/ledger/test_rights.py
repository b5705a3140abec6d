# ruff: noqa: S608 -- statements are literals of this file
"""Rights of each role: the catalogue agrees with docs/security.md; Postgres refuses the rest."""

import psycopg
import pytest

from tests.ledger import rights
from tests.ledger.postgres import Server
from tests.ledger.rows import write

FORBIDDEN = {
    "app_rw": (
        "UPDATE retail.sale_line SET quantity_units = 1",
        "DELETE FROM retail.sale_line",
        "TRUNCATE retail.sale_line",
        "UPDATE retail.stock_adjustment SET quantity_units = 1",
        "DELETE FROM retail.stock_adjustment",
        "UPDATE retail.stock_count SET units = 0",
        "DELETE FROM retail.stock_count",
        "UPDATE retail.price_change SET price_minor = 1",
        "UPDATE retail.reorder_decision SET action = 'approve'",
        "UPDATE retail.purchase_order_line SET supplier = 'x'",
        "UPDATE retail.shipment_line SET leg = 'transfer_in'",
        "DELETE FROM retail.item_location",
        "DELETE FROM retail.product",
        "INSERT INTO retail.debezium_signal (id, type) VALUES ('1', 'execute-snapshot')",
        "UPDATE app.reorder_proposal SET quantity_units = 1",
        "INSERT INTO app.revision_switch (revision, switched_by) VALUES (9, 'x')",
        "UPDATE app.action_log SET actor = 'x'",
        "DELETE FROM app.action_log",
        "INSERT INTO app.action_log (action, subject, at) VALUES ('a', 'b', now())",
        "INSERT INTO app.action_chain (place, action_id, previous, hash) VALUES (1, 1, '', '')",
        "DELETE FROM app.action_chain",
        "SELECT app.chain_entry(a) FROM app.action_log a",
        "DELETE FROM app.auth_user",
        "INSERT INTO app.auth_permission (name, content_type_id, codename) VALUES ('x', 1, 'x')",
        "DELETE FROM app.django_migrations",
        "UPDATE app.proof SET keys_differing = 0",
        "DELETE FROM app.proof",
        "UPDATE read_model.stock SET on_hand_units = 1",
        "DELETE FROM read_model.sink_position",
        "DELETE FROM read_model.service_heartbeat",
        "CREATE TABLE public.own (id int)",
        "CREATE TABLE app.own (id int)",
        "SET session_replication_role = replica",
        "ALTER TABLE retail.sale_line DISABLE TRIGGER ALL",
    ),
    "sink_rw": (
        "SELECT FROM retail.sale_line",
        "INSERT INTO app.action_log (action, subject) VALUES ('a', 'b')",
        "SELECT FROM app.auth_user",
        "SELECT FROM app.django_session",
        "DELETE FROM app.reorder_proposal",
        "UPDATE app.revision_switch SET revision = 1",
        "TRUNCATE read_model.stock",
    ),
    "archiver": (
        "SELECT FROM retail.sale_line",
        "SELECT FROM read_model.stock",
        "SELECT FROM app.auth_user",
        "DELETE FROM read_model.service_heartbeat",
    ),
    "app_ro": (
        "SELECT FROM app.auth_user",
        "SELECT FROM app.action_log",
        "SELECT FROM app.django_session",
        "INSERT INTO retail.product (code, name) VALUES ('x', 'x')",
    ),
    "cdc": ("SELECT FROM app.auth_user", "SELECT FROM read_model.stock"),
}


def test_the_security_page_lists_the_rights_of_every_table(ledger: psycopg.Connection) -> None:
    found, expected = rights.granted(ledger), rights.documented()

    wrong = [
        rights.row(table, of_roles)
        for table, of_roles in found.items()
        if expected.get(table) != of_roles
    ]
    assert wrong == [], "docs/security.md, Database roles: expected these rows"
    assert expected.keys() == found.keys()


@pytest.mark.parametrize(
    ("role", "statement"),
    [(role, statement) for role, statements in FORBIDDEN.items() for statement in statements],
)
def test_postgres_refuses_what_a_role_may_not_do(
    server: Server, database: str, role: str, statement: str
) -> None:
    with (
        psycopg.connect(server.url(role, database), autocommit=True) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(statement)


@pytest.mark.parametrize(
    ("table", "sent", "open_row"),
    [
        ("purchase_order_line", "sent", "draft"),
        ("shipment_line", "received", "planned"),
    ],
)
def test_only_unsent_order_and_shipment_lines_can_be_deleted(
    ledger: psycopg.Connection, till: psycopg.Connection, table: str, sent: str, open_row: str
) -> None:
    stays, goes = write(ledger, table), write(ledger, table)
    ledger.execute(f"UPDATE retail.{table} SET status = '{sent}' WHERE id = {stays}")
    if table == "shipment_line":
        ledger.execute(
            "UPDATE retail.shipment_line SET shipped_units = 0, received_units = 0,"
            f" damaged_units = 0, order_units = 0, status = 'planned' WHERE id = {goes}"
        )
    ledger.execute(f"UPDATE retail.{table} SET status = '{open_row}' WHERE id = {goes}")

    with pytest.raises(psycopg.errors.CheckViolation, match=f"status {sent}"):
        till.execute(f"DELETE FROM retail.{table} WHERE id = {stays}")
    assert till.execute(f"DELETE FROM retail.{table} WHERE id = {goes}").rowcount == 1
    # The owner of the tables may delete the row, so that a person can repair damage.
    assert ledger.execute(f"DELETE FROM retail.{table} WHERE id = {stays}").rowcount == 1

from typing import Any

import psycopg
import pytest

from tests.ledger.postgres import Server

APPS = ("ledger", "readmodel")


def objects(server: Server, database: str) -> list[tuple[Any, ...]]:
    """Return all objects that migrations create in our schemas, with the columns of tables."""
    with psycopg.connect(server.url("postgres", database)) as connection:
        return connection.execute(
            "SELECT n.nspname, c.relname, c.relkind::text, c.relreplident::text,"
            " c.relacl::text, array_agg(a.attname::text ORDER BY a.attname)"
            " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0"
            " WHERE n.nspname IN ('retail', 'read_model', 'app') AND c.relname !~ '^(auth|django)_'"
            " GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2"
        ).fetchall()


@pytest.fixture
def own_database(server: Server) -> str:
    name = server.create_database()
    server.manage(name, "migrate", "--verbosity", "0")
    return name


def test_every_migration_reverses_and_applies_again(server: Server, own_database: str) -> None:
    before = objects(server, own_database)

    for app in reversed(APPS):
        server.manage(own_database, "migrate", app, "zero", "--verbosity", "0")
    between = objects(server, own_database)
    server.manage(own_database, "migrate", "--verbosity", "0")

    assert between == []
    assert objects(server, own_database) == before


def test_a_new_database_has_no_people(server: Server, own_database: str) -> None:
    with psycopg.connect(server.url("postgres", own_database)) as connection:
        assert connection.execute("SELECT count(*) FROM app.auth_user").fetchone() == (0,)


def test_state_column_of_stock_is_text_with_lz4_compression(server: Server, database: str) -> None:
    with psycopg.connect(server.url("postgres", database)) as connection:
        known = connection.execute(
            "SELECT enumvals FROM pg_settings WHERE name = 'default_toast_compression'"
        ).fetchone()
        state = connection.execute(
            "SELECT atttypid::regtype::text, attcompression::text FROM pg_attribute"
            " WHERE attrelid = 'read_model.stock'::regclass AND attname = 'state'"
        ).fetchone()

    assert known is not None
    assert state == ("text", "l" if "lz4" in known[0] else "")


def test_models_and_migrations_agree(server: Server, database: str) -> None:
    assert "No changes" in server.manage(
        database, "makemigrations", "--check", "--dry-run", "--skip-checks"
    )


def test_a_database_with_models_of_an_earlier_version_needs_no_migration(
    server: Server, own_database: str
) -> None:
    """Earlier versions had models of the tables, so Django kept a content type and permissions."""
    before = objects(server, own_database)
    with psycopg.connect(server.url("postgres", own_database)) as connection:
        connection.execute(
            "WITH kept AS (INSERT INTO app.django_content_type (app_label, model)"
            " VALUES ('ledger', 'stockcount'), ('readmodel', 'stock') RETURNING id)"
            " INSERT INTO app.auth_permission (name, content_type_id, codename)"
            " SELECT 'Can view', id, 'view' FROM kept"
        )

    server.manage(own_database, "migrate", "--check")
    server.manage(own_database, "migrate", "--verbosity", "0")

    assert objects(server, own_database) == before

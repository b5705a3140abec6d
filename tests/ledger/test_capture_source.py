"""Damaged publications and slots that leave changes out of the log, on a real Postgres."""

from collections.abc import Iterator

import psycopg
import pytest

from cdc.capture.client import PUBLICATION, SLOT
from cdc.capture.source import (
    TABLES,
    Damage,
    clear_publication,
    create_publication,
    damage_of,
    paused_by,
    publication_problem,
    request_pause,
    store_publication,
)
from deploy.errors import StackError
from deploy.stack.capture import CAPTURE_AGAIN, refusal, refuse_damaged
from deploy.stack.runtime import UP
from tests.ledger.postgres import Server
from tests.ledger.test_doctor_rows import inactive_slot

PUBLISHED = "SELECT tablename FROM pg_publication_tables WHERE pubname = %s ORDER BY tablename"
GONE = Damage("publication", "does not exist")
DROP = f"DROP PUBLICATION {PUBLICATION}"
# Pairs of a change and its reversal. After both, the publication is complete, but has lost changes.
CHANGES = {
    "created again": (DROP, None),
    "a table came back": (
        f"ALTER PUBLICATION {PUBLICATION} DROP TABLE retail.sale_line",
        f"ALTER PUBLICATION {PUBLICATION} ADD TABLE retail.sale_line",
    ),
    "deletes came back": (
        f"ALTER PUBLICATION {PUBLICATION} SET (publish = 'insert, update')",
        f"ALTER PUBLICATION {PUBLICATION} SET (publish = 'insert, update, delete, truncate')",
    ),
}


@pytest.fixture
def owner(
    server: Server, database: str, ledger: psycopg.Connection
) -> Iterator[psycopg.Connection]:
    """The owner's connection. Afterwards, restore the publication and delete its stored ids."""
    with psycopg.connect(server.url("retail_owner", database), autocommit=True) as connection:
        clear_publication(connection)
        yield connection
        create_publication(connection)
        clear_publication(connection)


def test_a_missing_publication_is_damage_until_it_is_created(owner) -> None:
    before = owner.execute(PUBLISHED, (PUBLICATION,)).fetchall()
    assert (damage_of(owner), create_publication(owner)) == (None, False)

    owner.execute(DROP)

    assert damage_of(owner) == GONE
    assert create_publication(owner)
    assert owner.execute(PUBLISHED, (PUBLICATION,)).fetchall() == before
    assert {name for (name,) in before} == {*TABLES}


@pytest.mark.parametrize("change", CHANGES)
def test_a_publication_that_was_changed_and_restored_is_still_damage(owner, ledger, change) -> None:
    away, back = CHANGES[change]
    with inactive_slot(ledger):
        store_publication(owner)
        assert damage_of(owner) is None

        owner.execute(away)
        assert publication_problem(owner) != ""
        owner.execute(back) if back else create_publication(owner)

        assert publication_problem(owner) == ""
        found = damage_of(owner)
        assert found is not None
        assert found.part == "publication"
        by_table = ": sale_line" if change == "a table came back" else ""
        assert found.found == f"was changed or created again{by_table}"


@pytest.mark.parametrize("change", CHANGES)
def test_storing_the_ids_of_a_changed_publication_does_not_hide_its_damage(
    owner, ledger, change
) -> None:
    """A changed publication stays damage, even if its ids are stored after the check for damage."""
    away, back = CHANGES[change]
    with inactive_slot(ledger):
        store_publication(owner)
        owner.execute(away)
        store_publication(owner)
        owner.execute(back) if back else create_publication(owner)
        store_publication(owner)

        assert damage_of(owner) is not None


def test_a_publication_with_a_row_filter_is_damage(owner) -> None:
    owner.execute(f"ALTER PUBLICATION {PUBLICATION} DROP TABLE retail.sale_line")
    owner.execute(
        f"ALTER PUBLICATION {PUBLICATION} ADD TABLE retail.sale_line WHERE (quantity_units > 1)"
    )

    assert publication_problem(owner) == "leaves out rows or columns of sale_line"


def test_a_table_that_a_release_adds_is_no_damage(owner, ledger) -> None:
    with inactive_slot(ledger):
        store_publication(owner)
        owner.execute("CREATE TABLE retail.later (id int PRIMARY KEY)")
        try:
            owner.execute(f"ALTER PUBLICATION {PUBLICATION} ADD TABLE retail.later")
            assert damage_of(owner) is None
            store_publication(owner)
            owner.execute(f"ALTER PUBLICATION {PUBLICATION} DROP TABLE retail.later")
            assert damage_of(owner) == Damage("publication", "was changed or created again: later")
        finally:
            owner.execute("DROP TABLE retail.later")


def test_a_missing_slot_is_damage_once_a_capture_has_streamed(owner, server, database) -> None:
    url = server.url("app_rw", database)
    refuse_damaged(url)
    store_publication(owner)

    with pytest.raises(StackError) as refused:
        refuse_damaged(url)

    assert str(refused.value).startswith(f"slot {SLOT} does not exist. ")
    assert refused.value.repair == CAPTURE_AGAIN
    clear_publication(owner)
    refuse_damaged(url)


def test_the_application_role_can_only_update_the_capture_row(owner, till) -> None:
    request_pause(till, "someone")
    store_publication(till)

    assert paused_by(owner) == "someone"
    clear_publication(till)
    assert paused_by(owner) == ""
    for statement in ("DELETE FROM app.capture", "INSERT INTO app.capture DEFAULT VALUES"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            till.execute(statement)


def test_the_error_of_a_failed_connector_has_no_java_stack_trace() -> None:
    trace = "io.debezium.DebeziumException: offset is no longer available on the server\n\tat io.A"

    old = refusal(f"connector retail-cdc is not ready after 60 s\n{trace}")
    other = refusal("connector retail-cdc is not ready after 60 s\nlogin failed\n\tat io.A")

    assert (str(old).splitlines(), old.repair) == ([str(old)], CAPTURE_AGAIN)
    assert (str(other).splitlines(), other.repair) == ([str(other)], UP)
    assert "login failed" in str(other)
    assert "\tat" not in str(old) + str(other)

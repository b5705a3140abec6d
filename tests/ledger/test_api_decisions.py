"""Events of decisions: one per change, in order of commit, for the stores of the token's owner."""

from importlib import import_module
from typing import Any

import psycopg
import pytest

from tests.ledger.programs import Program, account, problem, program, program_of
from tests.ledger.rows import price_proposal, reorder_proposal, write

PATH = "/api/v1/decisions"


def changes(program: Program, **query: str | int) -> list[tuple[str, str, str]]:
    items = program.get(PATH, **query).json()["items"]
    return [(item["kind"], item["id"], item["change"]) for item in items]


def test_each_change_of_a_need_is_an_event(
    ledger: psycopg.Connection, sinks: psycopg.Connection
) -> None:
    need = reorder_proposal(sinks)
    sinks.execute("UPDATE app.reorder_proposal SET as_of_us = 2")
    sinks.execute("UPDATE app.reorder_proposal SET revision = 2, quantity_units = 60")
    write(ledger, "item_location", supplier="ACME", pack_units=6)
    ledger.execute("INSERT INTO retail.supplier (code, name) VALUES ('ACME', 'Acme')")
    buyer = program("buyer")
    body = {"action": "approve", "revision": 2}
    assert buyer.post(f"/api/v1/needs/{need}", body).status_code == 200
    sinks.execute("UPDATE app.reorder_proposal SET status = 'accepted'")

    items = buyer.get(PATH).json()["items"]

    assert [item["change"] for item in items] == ["opened", "revised", "decided", "closed"]
    decided = items[2]["proposal"]
    assert (decided["decided_action"], decided["decided_by"], decided["decided_units"]) == (
        *("approve", "buyer"),
        60,
    )
    assert (items[1]["proposal"]["quantity_units"], items[1]["currency"]) == (60, "EUR")


def test_snoozes_and_price_proposals_are_decision_events(
    ledger: psycopg.Connection, sinks: psycopg.Connection
) -> None:
    reorder_proposal(sinks)
    price_proposal(sinks)
    for status in ("snoozed", "open", "cancelled"):
        sinks.execute("UPDATE app.reorder_proposal SET status = %s", (status,))
    analyst = program("analyst", "decisions:read")

    assert changes(analyst, kind="price") == [("price", "P:L|S:1-2", "opened")]
    assert [change for _, _, change in changes(analyst, kind="need")] == [
        *("opened", "snoozed", "opened", "closed")
    ]
    [offer] = analyst.get(PATH, kind="price").json()["items"]
    assert (offer["proposal"]["old_minor"], offer["proposal"]["new_minor"]) == (999, 899)


def test_a_reader_continues_from_its_cursor_or_from_the_newest_event(
    ledger: psycopg.Connection, sinks: psycopg.Connection
) -> None:
    reorder_proposal(sinks)
    reader = program("buyer")
    first = reader.get(PATH).json()
    newest = reader.get(PATH, after="newest").json()
    empty = reader.get(PATH, after=first["next"]).json()
    sinks.execute("UPDATE app.reorder_proposal SET revision = 2")

    assert (empty["items"], empty["next"], empty["more"]) == ([], first["next"], False)
    assert newest["next"] == first["next"]
    assert [item["change"] for item in reader.get(PATH, after=first["next"]).json()["items"]] == [
        "revised"
    ]


def test_decision_events_are_ordered_by_commit(
    server: Any, database: str, ledger: psycopg.Connection
) -> None:
    """A reader of an event can't miss one whose transaction began earlier and ends later."""
    reader = program("buyer")
    with psycopg.connect(server.url("sink_rw", database)) as slow:
        reorder_proposal(slow, reorder_id="R:L|A:1-1", inv_key="L|A", sku="A")
        with psycopg.connect(server.url("sink_rw", database)) as quick:
            reorder_proposal(quick, reorder_id="R:L|B:1-1", inv_key="L|B", sku="B")
        seen = reader.get(PATH).json()
        assert [item["sku"] for item in seen["items"]] == ["B"]
    behind = reader.get(PATH, after=seen["next"]).json()

    assert [item["sku"] for item in behind["items"]] == ["A"]


def test_only_events_of_the_owner_s_stores_are_shown(
    ledger: psycopg.Connection, sinks: psycopg.Connection
) -> None:
    reorder_proposal(sinks)
    reorder_proposal(sinks, reorder_id="R:M|S:1-3", inv_key="M|S", location="M")
    manager = program("manager", stores=("M",))

    assert changes(manager) == [("need", "R:M|S:1-3", "opened")]
    assert problem(manager.get(PATH, location="L"))["status"] == 403


def test_a_cursor_before_the_kept_events_is_refused(
    ledger: psycopg.Connection, sinks: psycopg.Connection
) -> None:
    reorder_proposal(sinks)
    reader = program("buyer")
    first = reader.get(PATH).json()["next"]
    for revision in (2, 3):
        sinks.execute("UPDATE app.reorder_proposal SET revision = %s", (revision,))
    ledger.execute(
        "DELETE FROM app.decision_event WHERE id < (SELECT max(id) FROM app.decision_event)"
    )

    found = problem(reader.get(PATH, after=first))

    assert (found["status"], "after=newest" in found["next_step"]) == (410, True)
    assert len(reader.get(PATH).json()["items"]) == 1


def test_a_cursor_from_before_the_first_event_is_refused_after_deletions(
    ledger: psycopg.Connection, sinks: psycopg.Connection
) -> None:
    reader = program("buyer")
    first = reader.get(PATH, after="newest").json()["next"]
    reorder_proposal(sinks)
    assert len(reader.get(PATH, after=first).json()["items"]) == 1
    sinks.execute("UPDATE app.reorder_proposal SET revision = 2")
    ledger.execute(
        "DELETE FROM app.decision_event WHERE id < (SELECT max(id) FROM app.decision_event)"
    )

    for path in (PATH, f"{PATH}/stream"):
        assert problem(reader.get(path, after=first))["status"] == 410
    assert len(reader.get(PATH).json()["items"]) == 1


def test_a_reader_continues_after_the_events_of_other_stores(
    ledger: psycopg.Connection, sinks: psycopg.Connection
) -> None:
    manager = program("manager", stores=("M",))
    reorder_proposal(sinks)

    page = manager.get(PATH).json()

    assert page["items"] == []
    assert page["next"] == program("buyer").get(PATH).json()["next"]
    assert changes(manager, after=page["next"]) == []


def test_a_stream_continues_after_the_events_of_other_stores(
    ledger: psycopg.Connection, sinks: psycopg.Connection
) -> None:
    decisions = import_module("webui.api.decisions")
    reorder_proposal(sinks)
    user = account("manager", stores=("M",))
    program_of(user)
    [(token,)] = ledger.execute("SELECT id FROM app.api_token").fetchall()
    [(newest,)] = ledger.execute("SELECT max(id) FROM app.decision_event").fetchall()
    caller = import_module("webui.api.access").Caller(user, token)
    following = decisions.Following(caller, "", "", newest - 1)

    assert decisions._poll(following) == []
    assert following.after == newest


def test_deleted_events_of_other_stores_also_make_a_cursor_invalid(
    ledger: psycopg.Connection, sinks: psycopg.Connection
) -> None:
    manager, buyer = program("manager", stores=("M",)), program("buyer")
    reorder_proposal(sinks)
    first = buyer.get(PATH).json()["next"]
    sinks.execute("UPDATE app.reorder_proposal SET revision = 2")
    reorder_proposal(sinks, reorder_id="R:M|S:1-3", inv_key="M|S", location="M")

    assert changes(manager, after=first) == [("need", "R:M|S:1-3", "opened")]

    sinks.execute("UPDATE app.reorder_proposal SET revision = 3 WHERE location = 'L'")
    ledger.execute(
        "DELETE FROM app.decision_event WHERE id < (SELECT max(id) FROM app.decision_event)"
    )
    assert problem(manager.get(PATH, after=first))["status"] == 410


def test_a_cursor_above_the_newest_event_is_refused(
    ledger: psycopg.Connection, sinks: psycopg.Connection
) -> None:
    """Such a cursor exists after a restored backup. Later events would have ids below it."""
    reorder_proposal(sinks)
    sinks.execute("UPDATE app.reorder_proposal SET revision = 2")
    reader = program("buyer")
    newest = reader.get(PATH, after="newest").json()["next"]
    assert reader.get(PATH, after=newest).status_code == 200
    ledger.execute(
        "DELETE FROM app.decision_event WHERE id = (SELECT max(id) FROM app.decision_event)"
    )

    for path in (PATH, f"{PATH}/stream"):
        found = problem(reader.get(path, after=newest))
        assert (found["status"], "after=newest" in found["next_step"]) == (410, True)
    head = reader.head | {"Last-Event-ID": "x" * 401}
    assert problem(reader.client.get(f"{PATH}/stream", headers=head))["field"] == "Last-Event-ID"


def test_decision_events_have_an_index_by_location_and_id(ledger: psycopg.Connection) -> None:
    found = ledger.execute(
        "SELECT indexdef FROM pg_indexes WHERE tablename = 'decision_event'"
    ).fetchall()

    assert any(str(text).endswith("(location, id)") for (text,) in found)


@pytest.mark.parametrize("kind", ["need", "price"])
def test_a_change_of_the_logic_revision_alone_is_a_decision_event(
    ledger: psycopg.Connection, sinks: psycopg.Connection, kind: str
) -> None:
    reorder_proposal(sinks)
    price_proposal(sinks)
    table = {"need": "reorder_proposal", "price": "price_proposal"}[kind]
    sinks.execute(f"UPDATE app.{table} SET logic_revision = logic_revision + 1")  # noqa: S608 -- from above

    found = [change for _, _, change in changes(program("buyer"), kind=kind)]

    assert found == ["opened", "revised"]


def test_the_application_role_cannot_delete_decision_events(till: psycopg.Connection) -> None:

    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        till.execute("DELETE FROM app.decision_event")

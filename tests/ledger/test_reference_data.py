"""Products, locations and suppliers as operators add and describe them: limits, audit, races."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

from ledger import services
from ledger.access.scope import OutOfScope, Scope, within
from ledger.audit import chain
from ledger.audit.head import Head
from ledger.items.names import _SAME_LETTERS
from ledger.ranging.service import NewItem, range_new_item
from ledger.services import (
    Conflict,
    DescribeLocation,
    DescribeProduct,
    DescribeSupplier,
    ServiceError,
)
from tests.ledger.concurrency import PATIENCE_S, at_the_same_time
from tests.ledger.inbox import level, state

DESCRIBED = [
    (DescribeProduct("MUG", "Mug", "Kitchen"), DescribeProduct("MUG", "Blue mug", "Table")),
    (
        DescribeLocation("DC-1", "Depot", "warehouse", "Quay 1\n20457 Hamburg"),
        DescribeLocation("DC-1", "Harbour", "store", ""),
    ),
    (DescribeSupplier("ACME", "Acme"), DescribeSupplier("ACME", "Acme & Sons")),
]
KIND = ("product", "location", "supplier")


def columns(command: Any) -> dict[str, object]:
    return {name: getattr(command, name) for name in command.__slots__}


def row(ledger: psycopg.Connection, command: Any) -> dict[str, object]:
    names = command.__slots__
    found = ledger.execute(f"SELECT {', '.join(names)} FROM {command.TABLE}").fetchall()  # noqa: S608 -- names of the class
    [values] = found
    return dict(zip(names, values, strict=True))


def audit(ledger: psycopg.Connection) -> list[tuple[Any, ...]]:
    return ledger.execute(
        "SELECT actor, action, subject, detail FROM app.action_log ORDER BY id"
    ).fetchall()


@pytest.mark.parametrize(("first", "second"), DESCRIBED, ids=KIND)
def test_each_command_writes_the_row_and_one_audit_entry(
    ledger: psycopg.Connection, first: Any, second: Any
) -> None:
    services.add_reference(first, actor="olga")
    assert row(ledger, first) == columns(first)
    moved = services.change_reference(second, actor="otto")
    assert row(ledger, second) == columns(second)

    before, after = columns(first), columns(second)
    del before["code"], after["code"]
    noun = first.TABLE.removeprefix("retail.")
    expected = {name: [before[name], after[name]] for name in before}
    assert moved == expected
    assert audit(ledger) == [
        (
            "olga",
            f"add_{noun}",
            first.code,
            {name: [None, value] for name, value in before.items()},
        ),
        ("otto", f"change_{noun}", first.code, expected),
    ]
    assert chain.verify(ledger, Head()).breaks == ()


def test_a_command_without_a_change_writes_no_audit_entry(ledger: psycopg.Connection) -> None:
    services.add_reference(DescribeSupplier("ACME", "Acme"))

    assert services.change_reference(DescribeSupplier("ACME", "Acme")) == {}
    assert len(audit(ledger)) == 1


def test_terms_of_a_supplier_stay_when_its_name_changes(ledger: psycopg.Connection) -> None:
    services.add_reference(DescribeSupplier("ACME", "Acme"))
    services.set_supplier_terms(services.SetSupplierTerms("ACME", minimum_order_minor=500))
    services.change_reference(DescribeSupplier("ACME", "Apex"))

    found = ledger.execute("SELECT name, minimum_order_minor FROM retail.supplier").fetchall()
    assert found == [("Apex", 500)]


ACCEPTED = [
    DescribeProduct("S" * 32, "N" * 200, "D" * 100),
    DescribeProduct("Ü 1/2", "ü", ""),
    DescribeLocation("L" * 24, "N" * 200, "store", "A" * 499 + "\n"),
    DescribeSupplier("S" * 64, "N" * 200),
]
REFUSED = [
    ("code", DescribeProduct("", "Mug")),
    ("code", DescribeProduct("S" * 33, "Mug")),
    ("code", DescribeProduct("A|B", "Mug")),
    ("code", DescribeProduct(" MUG", "Mug")),
    ("name", DescribeProduct("MUG", " ")),
    ("name", DescribeProduct("MUG", "N" * 201)),
    ("name", DescribeProduct("MUG", "two\nlines")),
    ("name", DescribeProduct("MUG", "a\x00b")),
    ("department", DescribeProduct("MUG", "Mug", "D" * 101)),
    ("department", DescribeProduct("MUG", "Mug", "a\tb")),
    ("code", DescribeLocation("berlin", "Berlin")),
    ("code", DescribeLocation("L" * 25, "Berlin")),
    ("name", DescribeLocation("BERLIN", "")),
    ("kind", DescribeLocation("BERLIN", "Berlin", "kiosk")),
    ("address", DescribeLocation("BERLIN", "Berlin", "store", "A" * 501)),
    ("address", DescribeLocation("BERLIN", "Berlin", "store", "a\rb")),
    ("code", DescribeSupplier("", "Acme")),
    ("code", DescribeSupplier("S" * 65, "Acme")),
    ("code", DescribeSupplier("A|B", "Acme")),
    ("code", DescribeSupplier("ACME ", "Acme")),
    ("code", DescribeSupplier("A\nB", "Acme")),
    ("name", DescribeSupplier("ACME", "\u200b")),
]


@pytest.mark.parametrize("command", ACCEPTED)
def test_the_last_value_within_each_limit_is_written(
    ledger: psycopg.Connection, command: Any
) -> None:
    services.add_reference(command)

    assert row(ledger, command) == columns(command)


@pytest.mark.parametrize(("field", "command"), REFUSED)
def test_a_value_beyond_a_limit_is_refused_with_its_field(
    ledger: psycopg.Connection, field: str, command: Any
) -> None:
    for write in (services.add_reference, services.change_reference):
        with pytest.raises(ServiceError) as refusal:
            write(command)
        assert refusal.value.field == field

    assert ledger.execute(f"SELECT count(*) FROM {command.TABLE}").fetchone() == (0,)  # noqa: S608 -- a name of the class
    assert audit(ledger) == []


def test_a_code_in_use_and_an_unknown_code_are_refused(ledger: psycopg.Connection) -> None:
    services.name_products(names={"MUG": "Mug"})

    with pytest.raises(ServiceError, match="this code is in use: choose another one"):
        services.add_reference(DescribeProduct("MUG", "Other"))
    with pytest.raises(ServiceError, match="no such product"):
        services.change_reference(DescribeProduct("LAMP", "Lamp"))
    assert row(ledger, DescribeProduct("MUG", "Mug"))["name"] == "Mug"
    assert audit(ledger) == []


def test_a_new_sku_that_differs_from_another_only_in_case_is_refused(
    ledger: psycopg.Connection,
) -> None:
    services.name_products(names={"Mug": "Mug"})
    services.range_item(location="L", sku="LAMP")
    level(ledger, state(sku="mUG"))

    for sku, other in (("MUG", "Mug"), ("lamp", "LAMP")):
        rule = f"differs from {other} only in upper and lower case: use {other}"
        with pytest.raises(ServiceError, match=rule) as refusal:
            services.add_reference(DescribeProduct(sku, "Other"))
        assert (refusal.value.field, refusal.value.value) == ("code", sku)
    # These SKUs are in use already.
    services.add_reference(DescribeProduct("LAMP", "Lamp"))
    services.add_reference(DescribeProduct("mUG", "Small mug"))
    services.change_reference(DescribeProduct("Mug", "Large mug"))


def test_a_stale_change_gets_a_conflict_that_names_the_changed_value(
    ledger: psycopg.Connection,
) -> None:
    services.add_reference(DescribeProduct("MUG", "Mug"))
    services.change_reference(DescribeProduct("MUG", "Cup"))

    with pytest.raises(Conflict, match="MUG has changed since it was shown: name is Cup, was Mug"):
        services.change_reference(DescribeProduct("MUG", "Beaker"), shown={"name": "Mug"})
    assert row(ledger, DescribeProduct("MUG", "Mug"))["name"] == "Cup"


def test_a_person_limited_to_some_stores_cannot_change_reference_data(
    ledger: psycopg.Connection,
) -> None:
    with within(Scope(everywhere=False, stores=frozenset({"BERLIN"}))):
        for write in (services.add_reference, services.change_reference):
            with pytest.raises(OutOfScope):
                write(DescribeLocation("BERLIN", "Berlin"))

    assert ledger.execute("SELECT count(*) FROM retail.location").fetchone() == (0,)


def test_when_two_people_add_the_same_code_one_is_refused(ledger: psycopg.Connection) -> None:
    def add(name: str) -> str:
        try:
            services.add_reference(DescribeProduct("MUG", name))
        except ServiceError as refusal:
            return refusal.field
        return "added"

    assert sorted(at_the_same_time(lambda: add("one"), lambda: add("two"))) == ["added", "code"]
    assert len(audit(ledger)) == 1


@pytest.mark.parametrize("other", ["product", "policy"])
def test_a_concurrently_added_sku_that_differs_only_in_case_is_refused(
    ledger: psycopg.Connection, other: str
) -> None:
    def add_second() -> None:
        if other == "product":
            services.add_reference(DescribeProduct("MUG", "Mug"))
        else:
            range_new_item(item=NewItem("L", "MUG", {}), actor="bob")

    services.name_locations(names={"L": "Store"})
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            services.add_reference(DescribeProduct("Mug", "Mug"))
            second = pool.submit(on_own_connection, add_second)
            until_it_waits(ledger, second)
        refusal = second.exception(PATIENCE_S)

    assert isinstance(refusal, ServiceError)
    assert refusal.rule.startswith("differs from Mug only in upper and lower case")
    assert ledger.execute("SELECT code FROM retail.product").fetchall() == [("Mug",)]
    assert ledger.execute("SELECT sku FROM retail.item_location").fetchall() == []


def on_own_connection(call: Callable[[], None]) -> None:
    try:
        call()
    finally:
        connection.close()


def until_it_waits(ledger: psycopg.Connection, call: "Future[None]") -> None:
    """Return once the call waits for an advisory lock, or has ended without waiting."""
    waiting = """
    SELECT EXISTS (
        SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
        WHERE l.locktype = 'advisory' AND NOT l.granted AND d.datname = current_database())"""
    deadline = time.monotonic() + PATIENCE_S
    while not call.done() and ledger.execute(waiting).fetchone() != (True,):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_case_insensitive_sku_lookup_uses_indexes(ledger: psycopg.Connection) -> None:
    # Without statistics of some rows, the plan may scan any index of a table.
    items = """
    INSERT INTO retail.item_location (location, sku, inv_key, status)
    SELECT 'L', 'M' || n, 'L|M' || n, 'active' FROM generate_series(1, 200) n
    """
    products = """
    INSERT INTO retail.product (code, name) SELECT 'M' || n, 'Mug' FROM generate_series(1, 200) n
    """
    with ledger.transaction(force_rollback=True):
        ledger.execute(items)
        ledger.execute(products)
        ledger.execute("ANALYZE retail.product, retail.item_location")
        ledger.execute("SET LOCAL enable_seqscan = off")
        plan = ledger.execute(f"EXPLAIN {_SAME_LETTERS}", ("mug", "mug", "mug")).fetchall()

    text = "\n".join(line for (line,) in plan)
    assert all(f"{table}_letters" in text for table in ("product", "item_location")), text


@pytest.mark.parametrize("table", KIND)
def test_postgres_forbids_changing_codes_and_deleting_reference_rows(
    till: psycopg.Connection, table: str
) -> None:
    for statement in (f"UPDATE retail.{table} SET code = 'X'", f"DELETE FROM retail.{table}"):  # noqa: S608 -- literals of this file
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            till.execute(statement)

"""Crafted forms and batches are refused, and none causes a server error."""

import json
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from ledger import services
from ledger.services import ServiceError
from tests.ledger.pages import form, person
from tests.ledger.rows import write
from webui.desks.receiving.forms import shown_rows

LONG = "9" * 5000


def decided(**fields: str) -> Any:
    return person("manager").post(
        "/counts/waiting/decide", {"command_id": str(uuid4()), "action": "approve", **fields}
    )


@pytest.mark.parametrize("shown", ["--5", "²", LONG, "-", "٣"])
def test_an_invalid_number_of_expected_units_is_refused(
    ledger: psycopg.Connection, shown: str
) -> None:
    assert decided(subject="count-1", shown_expected=shown).status_code == 422


@pytest.mark.parametrize("number", ["²", LONG, ""])
def test_a_decision_about_an_invalid_count_id_is_refused(
    ledger: psycopg.Connection, number: str
) -> None:
    assert decided(subject=f"count-{number}", shown_expected="1").status_code == 422


@pytest.mark.parametrize("task", ["²", LONG, "x"])
def test_an_invalid_task_id_is_refused(ledger: psycopg.Connection, task: str) -> None:
    assert person("manager").post("/tasks/acknowledge", form(task, -3)).status_code == 422


@pytest.mark.parametrize("revision", ["²", LONG, "", " 1"])
def test_a_ticked_need_with_an_invalid_revision_is_refused(
    ledger: psycopg.Connection, revision: str
) -> None:
    given = {"command_id": str(uuid4()), "pick": f"{revision}@R:L|S:1-2"}

    assert person("buyer").post("/reorders/approve", given).status_code == 422


@pytest.mark.parametrize("difference", [LONG, "-1", "٣", ""])
def test_an_explanation_request_with_an_invalid_difference_is_refused(
    ledger: psycopg.Connection, difference: str
) -> None:
    given = {"command_id": str(uuid4()), "kind": "explain", "difference": difference}
    runs = {"a": "local-a", "b": "local-b", "key": "L|S"}

    assert person("lead").post("/history/ask", given | runs).status_code == 422
    assert ledger.execute("SELECT FROM app.history_request").fetchall() == []


@pytest.mark.parametrize("name", [f"{LONG}-0", f"1-{LONG}", "²-0"])
def test_a_delivery_row_with_an_invalid_number_is_ignored(name: str) -> None:
    given = {f"shown-{name}": "1", f"expected-{name}": "1"}

    assert shown_rows(given, []) == []


@pytest.mark.parametrize(
    "body",
    [
        json.dumps({"entries": [{"id": 5, "sku": "S", "units": 1, "age_ms": 0}]}),
        f'{{"entries": [{{"id": "{uuid4()}", "sku": "S", "units": Infinity, "age_ms": 0}}]}}',
        f'{{"entries": [{{"id": "{uuid4()}", "sku": "S", "units": 1, "age_ms": 1e999}}]}}',
        "[" * 100_000,
    ],
)
def test_a_malformed_scanner_batch_is_refused(ledger: psycopg.Connection, body: str) -> None:
    write(ledger, "item_location")
    sheet = services.open_sheet(location="L", actor="ann")

    answer = person("associate", "ann").post(
        f"/counts/sheets/{sheet}/entries", body, content_type="application/json"
    )

    assert answer.status_code == 422


@pytest.mark.parametrize(
    ("role", "path", "field"),
    [
        ("buyer", "/reorders/decide", "reason"),
        ("buyer", "/suppliers/terms", "address"),
        ("associate", "/counts/adjust/", "note"),
        ("associate", "/receiving/receive?ref=X", "reason-1-0"),
        ("pricing", "/prices/stop", "stop"),
        ("manager", "/login/", "username"),
    ],
)
def test_a_form_with_a_zero_character_is_refused_before_any_page_reads_it(
    ledger: psycopg.Connection, role: str, path: str, field: str
) -> None:
    answer = person(role).post(path, {"command_id": str(uuid4()), field: "a\x00b"})

    assert answer.status_code == 400
    assert answer.content.decode() == (
        f"{field.replace('_', ' ').capitalize()}: forms can't contain zero characters."
        " Nothing was changed."
    )


def test_a_zero_character_in_a_service_call_raises_a_service_error(
    ledger: psycopg.Connection,
) -> None:
    services.name_suppliers(names={"ACME": "Acme"})

    with pytest.raises(ServiceError, match="a value can't be stored"):
        services.set_supplier_terms(services.SetSupplierTerms(code="ACME", address="a\x00b"))

"""Forms and batches that no page of ours sends are refused; none of them is an error of ours."""

import json
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.ledger.pages import form, person
from tests.ledger.rows import write
from webui.ledger import services
from webui.orders.forms import Form
from webui.receiving.delivery import shown_rows

LONG = "9" * 5000


def decided(**fields: str) -> Any:
    return person("manager").post(
        "/counts/waiting/decide", {"command_id": str(uuid4()), "action": "approve", **fields}
    )


@pytest.mark.parametrize("shown", ["--5", "²", LONG, "-", "٣"])
def test_an_expected_number_that_is_none_is_refused(ledger: psycopg.Connection, shown: str) -> None:
    assert decided(subject="count-1", shown_expected=shown).status_code == 422


@pytest.mark.parametrize("number", ["²", LONG, ""])
def test_a_waiting_subject_that_is_none_is_refused(ledger: psycopg.Connection, number: str) -> None:
    assert decided(subject=f"count-{number}", shown_expected="1").status_code == 422


@pytest.mark.parametrize("task", ["²", LONG, "x"])
def test_a_task_that_is_none_is_refused(ledger: psycopg.Connection, task: str) -> None:
    assert person("manager").post("/tasks/acknowledge", form(task, -3)).status_code == 422


@pytest.mark.parametrize("revision", ["²", LONG, ""])
def test_a_ticked_box_that_is_none_is_refused(ledger: psycopg.Connection, revision: str) -> None:
    given = {"command_id": str(uuid4()), "pick": f"{revision}@R:L|S:1-2"}

    assert person("buyer").post("/reorders/approve", given).status_code == 422


@pytest.mark.parametrize("name", [f"{LONG}-0", f"1-{LONG}", "²-0"])
def test_a_delivery_row_that_is_none_is_left_out(name: str) -> None:
    given = Form({f"shown-{name}": "1", f"expected-{name}": "1"}, "bob", uuid4())

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
def test_a_batch_that_the_scanner_never_sends_is_refused(
    ledger: psycopg.Connection, body: str
) -> None:
    write(ledger, "item_location")
    sheet = services.open_sheet(location="L", actor="ann")

    answer = person("associate", "ann").post(
        f"/counts/sheets/{sheet}/entries", body, content_type="application/json"
    )

    assert answer.status_code == 422

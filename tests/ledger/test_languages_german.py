"""German texts that appear only in some states. `test_languages.py` doesn't reach these states."""

from importlib import import_module
from uuid import uuid4

import psycopg
import pytest
from django.test import Client

from tests.ledger.inbox import emptied
from tests.ledger.pages import person
from tests.ledger.planted import plant_history
from tests.ledger.rows import reorder_proposal
from tests.ledger.test_access_matrix import body
from webui.translation.recorded import JOBS, QUESTIONS

REVIEW = "/history/reviews/900001/"


@pytest.fixture(name="planted")
def planted_history(ledger: psycopg.Connection) -> None:
    emptied(ledger)
    plant_history(ledger)


def in_german(client: Client) -> Client:
    client.cookies["django_language"] = "de"
    return client


@pytest.mark.usefixtures("planted")
def test_the_message_after_a_verdict_is_translated() -> None:
    lead = in_german(person("lead", "leo"))
    given = {"command_id": str(uuid4()), "action": "rejected", "reason": "zu viel", "growth": "0"}

    answer = lead.post(f"{REVIEW}act", given, follow=True)

    assert '<p role="status">Abgelehnt.</p>' in body(answer)


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize("language", ["en", "de"])
def test_a_verdict_has_its_colour_in_every_language(language: str) -> None:
    lead = person("lead", "leo")
    lead.cookies["django_language"] = language

    assert 'class="flag verdict-waiting"' in body(lead.get(REVIEW))


@pytest.mark.parametrize(
    ("view", "title"),
    [
        ("open", "Keine offenen Bedarfe"),
        ("held", "Keine zurückgehaltenen Bedarfe"),
        ("closed", "Keine geschlossenen Bedarfe"),
    ],
)
def test_an_empty_list_of_needs_names_its_view(
    ledger: psycopg.Connection, view: str, title: str
) -> None:
    emptied(ledger)

    assert f"<h2>{title}</h2>" in body(in_german(person("buyer")).get(f"/reorders/?view={view}"))


def test_need_without_a_supplier_is_labelled_in_german(ledger: psycopg.Connection) -> None:
    reorder_id = reorder_proposal(ledger, supplier=None)

    page = body(in_german(person("buyer")).get("/reorders/need", {"id": reorder_id}))

    assert "· Kein Lieferant" in page
    assert "No supplier" not in page


def test_audit_actions_and_question_texts_are_translated(ledger: psycopg.Connection) -> None:
    emptied(ledger)
    ledger.execute(
        "INSERT INTO app.action_log (actor, action, subject) VALUES ('ann', 'confirm_order', 'L|S')"
    )
    question = {"name": "shrink", "text": QUESTIONS[7], "statement": "SELECT 1"}
    import_module("ledger.requests.execution").write_snapshot({"questions": [question]})
    client = in_german(person("operator"))

    log, asked = body(client.get("/system/audit/")), body(client.get("/history/questions/"))

    assert 'title="confirm_order">Bestellung bestätigen</td>' in log
    assert asked.count("Welche Filialen verlieren wie viele Stück, und warum?") == 2
    assert QUESTIONS[7] not in asked


@pytest.mark.usefixtures("ledger")
def test_every_job_of_the_automation_is_in_the_catalogues() -> None:
    assert tuple(import_module("ledger.automation.__main__").jobs()) == JOBS

"""Pages of the analyst desk: differences down to one key, reviews by a second person, answers."""

import json
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.test import Client
from django.test.utils import setup_test_environment, teardown_test_environment

from tests.ledger.inbox import emptied
from tests.ledger.pages import person
from tests.ledger.planted import plant_history
from tests.ledger.test_proofs import record

EXPLAINED = {
    "key": "ROME-1|TEA",
    "partition": 3,
    "offset": 71,
    "about": "first differing record",
    "record": {"table": "sale_line", "op": "c", "row_id": "9"},
    "problems": [],
    "lines": [
        {"section": "Levels", "label": "Reorder point", "a": "5", "b": "3"},
        {"section": "Levels", "label": "Lead time", "a": "2 d", "b": "2 d"},
    ],
    "differences": [],
}


@pytest.fixture(name="planted")
def planted_history(ledger: psycopg.Connection) -> Iterator[psycopg.Connection]:
    setup_test_environment()
    emptied(ledger)
    plant_history(ledger)
    yield ledger
    teardown_test_environment()


def page(client: Client, path: str) -> str:
    answer: Any = client.get(path)
    assert answer.status_code == 200, path
    return str(answer.content.decode())


def post(client: Client, path: str, **fields: object) -> Any:
    given = {name: str(text) for name, text in fields.items()}
    return client.post(path, {"command_id": str(uuid4())} | given)


def test_differences_page_groups_and_filters_decisions(planted: psycopg.Connection) -> None:
    client = person("analyst")

    every = page(client, "/history/differences/900001/?by=store")
    changed = page(client, "/history/differences/900001/?how=changed&store=ROME-1")
    none = page(client, "/history/differences/900001/?supplier=ACME")

    assert "2 decisions differ" in every
    assert "1 to 2 of 2, largest money first" in every
    assert "how=changed&amp;store=ROME-1" in every or "store=ROME-1" in every
    assert "1 to 1 of 1, largest money first" in changed
    assert 'data-label="A units">12</td>' in changed
    assert 'data-label="B units">6</td>' in changed
    assert 'data-label="B units">–</td>' in every  # only A has this need
    assert "No difference with these filters" in none
    assert "Request a review" in every
    assert client.get("/history/differences/900002/").status_code == 404
    assert client.get("/history/differences/99/").status_code == 404


def test_a_key_is_explained_on_request(planted: psycopg.Connection) -> None:
    client = person("lead")
    path = "/history/differences/900001/key?key=ROME-1%7CTEA"
    assert "Explain this item" in page(client, path)

    fields = {"a": "local-a", "b": "local-b", "key": "ROME-1|TEA", "difference": 900_001}
    asked = post(client, "/history/ask", kind="explain", **fields)

    assert asked["Location"] == path
    assert "Request for both explanations: waiting" in page(client, path)
    execution = import_module("ledger.requests.execution")
    taken = execution.take_next()
    execution.finish(taken.id, execution.Ended(1, "", EXPLAINED))
    shown = page(client, path)
    assert "offset 71 of partition 3, c of sale_line 9" in shown
    assert shown.count('class="differs"') == 1
    assert client.get("/history/differences/900001/key?key=ROME-1%7CSOAP").status_code == 404


def test_a_second_person_approves_and_the_requester_does_not(planted: psycopg.Connection) -> None:
    ada, lead = person("analyst", "ada"), person("lead", "leo")
    assert 'value="approved"' not in page(ada, "/history/reviews/900001/")
    own = post(ada, "/history/reviews/900001/act", action="approved", reason="", growth=0)
    assert own.status_code == 422
    assert "You have requested this review, so another person" in own.content.decode()

    wrong = post(
        lead, "/history/reviews/900001/act", action="approved", reason="seen", growth="many"
    )
    assert wrong.status_code == 422
    assert 'value="many"' in wrong.content.decode()
    form = {"command_id": str(uuid4()), "action": "approved", "reason": "seen", "growth": "7"}
    for _ in range(2):
        assert lead.post("/history/reviews/900001/act", form).status_code == 302

    shown = page(ada, "/history/reviews/900001/")
    assert "Approved by leo" in shown
    command = 'inventory backfill cutover <span class="unbroken">--approval='
    assert command in shown  # the option stays in one line
    verdicts = planted.execute("SELECT verdict, growth, decided_by FROM app.diff_verdict")
    assert verdicts.fetchall() == [("approved", 7, "leo")]
    assert (
        post(ada, "/history/reviews/900001/act", action="withdrawn", reason="no").status_code == 302
    )
    assert "withdrawn" in page(lead, "/history/reviews/")


def test_an_operator_confirms_what_an_analyst_asks_for(planted: psycopg.Connection) -> None:
    ada, olga = person("analyst", "ada"), person("operator", "olga")
    asked = post(ada, "/history/ask", kind="publish", run="local-b")
    path = asked["Location"]
    assert "to confirm" in page(ada, path)
    assert "Confirm: Publish a run" not in page(ada, path)
    assert post(ada, f"{path}act", action="confirm").status_code == 422

    assert "Confirm: Publish a run" in page(olga, path)
    assert post(olga, f"{path}act", action="confirm").status_code == 302

    shown = page(ada, path)
    assert "Confirmed by olga" in shown
    assert 'inventory backfill publish <span class="unbroken">local-b</span>' in shown


def test_parameters_of_a_run_are_checked_when_they_are_sent(planted: psycopg.Connection) -> None:
    fields = {"kind": "run", "set": "safety_days=2", "where": "family=sS"}

    wrong = post(person("analyst"), "/history/ask", **fields)
    also_wrong = post(person("analyst"), "/history/ask", kind="run", set="pack_units=0")

    assert (wrong.status_code, also_wrong.status_code) == (422, 422)
    assert "no such policy column; similar columns: safety_centidays" in wrong.content.decode()
    assert "pack_units must be an integer 1…1000000, got 0" in also_wrong.content.decode()
    fields["set"] = "safety_centidays=200"
    assert post(person("analyst"), "/history/ask", **fields).status_code == 302


def test_shadow_request_page_lists_every_comparison_with_its_counts(
    planted: psycopg.Connection,
) -> None:
    ada, olga = person("analyst", "ada"), person("operator", "olga")
    execution = import_module("ledger.requests.execution")
    path = post(ada, "/history/ask", kind="shadow", revision=3, approval="ab" * 32)["Location"]
    post(olga, f"{path}act", action="confirm")
    counts = {"equal": 1_047, "only_former": 200, "only_new": 100, "changed": 1, "explanation": 0}
    line = {"former": 2, "revision": 3, "records": 9, "moving": 5, **counts}
    rounds = [line | {"at_s": at, "unapproved": 4} for at in (1_772_445_600, 1_772_445_610)]
    execution.finish(execution.take_next().id, execution.Ended(1, "", rounds))

    shown = page(ada, path)

    problem = "some keys differ and are not part of the approved difference"
    assert f"exit code 1: {problem}." in shown
    assert "Only revision 2</th>" in shown
    assert "Only revision 3</th>" in shown
    for at in ("2026-03-02 10:00:00", "2026-03-02 10:00:10"):
        cells = "".join(f'<td class="n">{n}</td>' for n in ("1,047", 200, 100, 1, 0, 5, 4))
        assert f'<th scope="row">{at}</th>{cells}' in shown


def test_review_page_offers_publication_of_its_run_until_it_is_published(
    planted: psycopg.Connection,
) -> None:
    lead, ada, olga = person("lead", "leo"), person("analyst", "ada"), person("operator", "olga")
    execution, path = import_module("ledger.requests.execution"), "/history/reviews/900001/"
    post(lead, f"{path}act", action="approved", reason="seen", growth=0)
    assert 'name="run" value="local-b"' in page(ada, path)

    asked = post(ada, "/history/ask", kind="publish", run="local-b")["Location"]
    post(olga, f"{asked}act", action="confirm")
    execution.finish(execution.take_next().id, execution.Ended(0, "", {"run": "local-b"}))
    done = page(ada, path)
    switch(planted, 3, 2)
    switch(planted, 2, 3, rollback=True)

    assert 'name="kind" value="publish"' not in done
    assert 'name="kind" value="shadow"' in done
    assert 'name="kind" value="publish"' in page(ada, path)


def test_publish_request_of_an_earlier_release_is_shown_with_its_revision(
    planted: psycopg.Connection,
) -> None:
    planted.execute(
        "INSERT INTO app.history_request (kind, arguments, requested_by)"
        """ VALUES ('publish', '{"revision": "3"}', 'ada')"""
    )

    assert page(person("analyst", "ada"), "/history/").count("Publish a run") == 1
    newest = import_module("ledger.requests.queries").newest_requests(["publish"], 1)[0]
    assert "inventory backfill publish 3" in page(
        person("analyst"), f"/history/requests/{newest.id}/"
    )


def test_a_refused_request_keeps_its_input(planted: psycopg.Connection) -> None:
    answer = post(person("analyst"), "/history/ask", kind="run", set="lead time", where="family=sS")

    text = answer.content.decode()
    assert answer.status_code == 422
    assert "a policy column with its value, like lead_time_centidays=100" in text
    assert 'value="lead time"' in text
    assert 'value="family=sS"' in text


def test_query_result_is_shown_as_table_and_chart_and_exported_as_csv(
    planted: psycopg.Connection,
) -> None:
    client = person("pricing")

    shown = page(client, "/history/answers/900002/?value=sold_units")
    sent: Any = client.get("/history/answers/900002.csv")

    assert "<h1>Shrink <small>" in shown
    assert '<h2 id="chart-h">Sold units</h2>' in shown
    assert '<th scope="col" class="n">Lost, EUR</th>' in shown
    assert '<td class="n">12.50</td>' in shown
    lines = b"".join(sent.streaming_content).decode().splitlines()
    assert lines == ["store,sold_units,lost_minor", "ROME-1,7,1250", "'=OSLO"]


def test_answer_page_is_titled_with_the_question_and_shows_days_without_time(
    planted: psycopg.Connection,
) -> None:
    execution, client = import_module("ledger.requests.execution"), person("analyst")
    question = {"name": "lost", "text": "Which sales were lost?", "statement": "SELECT 1"}
    execution.write_snapshot({"questions": [question]})
    path = post(client, "/history/ask", kind="question", name="lost", run="local-a")["Location"]
    days = ("2026-11-24 00:00:00", "2026-11-25 00:00:00")
    rows = [{"day": day, "at": f"{day[:11]}09:00:00", "units": 3} for day in days]
    execution.finish(execution.take_next().id, execution.Ended(0, "", rows))

    shown = page(client, path.replace("requests", "answers"))

    assert "<h1>Which sales were lost? <small>local-a, 2 rows" in shown
    assert "<td>2026-11-24</td><td>2026-11-24 09:00:00</td>" in shown
    assert "<span>2026-11-25 2026-11-25 09:00:00</span>" in shown


def test_runs_with_progress_and_questions_come_from_the_snapshot(
    planted: psycopg.Connection,
) -> None:
    client = person("analyst")
    assert "prover" in page(client, "/history/")
    document = {
        "archive": {"records": 1_200, "files": 3},
        "runs": [
            {"run": "local-b", "logic_revision": 3, "units": 12, "units_finished": 3},
            {
                "run": "local-a",
                "logic_revision": 2,
                "units": 12,
                "units_finished": 12,
                "finished": True,
                "digest": "ab" * 16,
                "records": 1_200,
                "keys": 40,
            },
        ],
        "questions": [{"name": "shrink", "text": "What is lost?", "statement": "SELECT 1"}],
    }
    import_module("ledger.requests.execution").write_snapshot(document)

    runs = page(client, "/history/")
    assert 'value="25"' in runs
    assert "1,200 records in 3 files" in runs
    assert "What is lost?" in page(client, "/history/questions/")
    # The page offers only finished runs for a comparison.
    assert '<option value="local-b"' not in page(client, "/history/differences/")


def test_a_comparison_preselects_two_runs_over_the_same_records(
    planted: psycopg.Connection,
) -> None:
    client, runs = person("analyst"), {"local-d": (2, 9), "local-c": (3, 8), "local-a": (2, 8)}
    listed = [
        {"run": run, "logic_revision": revision, "records": records, "finished": True}
        for run, (revision, records) in runs.items()
    ]
    import_module("ledger.requests.execution").write_snapshot({"runs": listed})
    switch(planted, 2, 1)

    for path in ("/history/", "/history/differences/"):
        assert selected(page(client, path)) == {"a": ["local-a"], "b": ["local-c"]}
    switch(planted, 3, 2)
    # No run has newer rules than revision 3, so a person has to choose B.
    assert selected(page(client, "/history/")) == {"a": ["local-c"], "b": []}
    form = re.search(r'<select name="b".*?</select>', page(client, "/history/"), re.DOTALL)
    assert form is not None
    assert '<option value="live">' in form[0]


def test_run_page_offers_a_comparison_with_deciding_rules(planted: psycopg.Connection) -> None:
    client, execution = person("analyst"), import_module("ledger.requests.execution")
    runs = [{"run": "local-a", "logic_revision": 2, "records": 8, "finished": True}]
    execution.write_snapshot({"runs": runs})
    switch(planted, 2, 1)

    for records, present in ((8, "local-a"), (9, "live")):
        path = post(client, "/history/ask", kind="run", set="safety_centidays=200")["Location"]
        assert 'name="kind" value="compare"' not in page(client, path)
        done = execution.Ended(0, "", {"run": "local-c", "records": records})
        execution.finish(execution.take_next().id, done)

        shown = page(client, path)
        assert 'name="kind" value="compare"' in shown
        assert f'name="a" value="{present}"><input type="hidden" name="b" value="local-c"' in shown


def selected(shown: str) -> dict[str, list[str]]:
    """Return the selected options of the comparison's form by field."""
    return {
        name: re.findall(r'value="([^"]*)" selected', choices)
        for name, choices in re.findall(r'<select name="([ab])"(.*?)</select>', shown, re.DOTALL)
    }


def test_proofs_show_their_history(planted: psycopg.Connection) -> None:

    record("local-a")
    record("local-b", base="local-a", keys_differing=1)

    shown = page(person("operator"), "/history/proofs/")

    assert shown.count('<li class="equal"') == 1
    assert shown.count('<li class="different"') == 1
    assert "<code>L1|TEA</code>" in shown
    assert "Prove now" in shown


def test_review_page_offers_rollback_only_while_its_revision_decides(
    planted: psycopg.Connection,
) -> None:
    lead, ada = person("lead", "leo"), person("analyst", "ada")
    path = "/history/reviews/900001/"
    assert page(ada, path).count("Ask for it") == 0
    post(lead, f"{path}act", action="approved", reason="seen", growth=0)

    before = page(ada, path)
    switch(planted, 3, 2)
    after = page(ada, path)
    switch(planted, 2, 3, rollback=True)
    back = page(ada, path)

    assert before.count("Ask for it") == 3
    assert 'name="kind" value="rollback"' not in before
    assert after.count("Ask for it") == 1
    assert 'name="kind" value="rollback"' in after
    assert "Revision 3 decides." in after
    # A person switched in a terminal. The step is done, although no request of a page ran.
    assert "UTC. root switched to it." in after
    assert after.count('<span class="flag good">done</span>') == 1
    assert "Revision 2 has decided since" in back
    assert back.count("Ask for it") == 3
    assert 'name="kind" value="rollback"' not in back


def test_an_approval_is_not_withdrawn_while_its_revision_decides(
    planted: psycopg.Connection,
) -> None:
    lead, ada = person("lead", "leo"), person("analyst", "ada")
    path = "/history/reviews/900001/"
    post(lead, f"{path}act", action="approved", reason="seen", growth=0)
    switch(planted, 3, 2)

    refused = post(ada, f"{path}act", action="withdrawn", reason="no")

    text = refused.content.decode()
    assert refused.status_code == 409
    assert "ogic revision 3 decides already, so its approval can&#x27;t be withdrawn" in text, text
    for client in (ada, lead, person("operator", "olga")):
        shown = page(client, path)
        assert 'value="withdrawn"' not in shown
        assert 'value="approved"' not in shown
        assert "Roll back first." in shown
    switch(planted, 2, 3, rollback=True)
    assert 'value="withdrawn"' in page(ada, path)
    assert post(ada, f"{path}act", action="withdrawn", reason="no").status_code == 302


def switch(ledger: psycopg.Connection, revision: int, former: int, **comparison: object) -> None:
    """Record a switch of the deciding revision, as a person in a terminal makes it."""
    ledger.execute(
        "INSERT INTO app.revision_switch (revision, former, comparison, switched_by)"
        " VALUES (%s, %s, %s::jsonb, 'root')",
        (revision, former, json.dumps(comparison)),
    )

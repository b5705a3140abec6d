"""Pages of the analyst desk: links of groups, and forms after a refusal."""

import json
import re
from importlib import import_module

import psycopg
import pytest

from tests.ledger.pages import person
from tests.ledger.test_history_pages import page, planted_history, post

__all__ = ["planted_history"]


def test_difference_group_without_supplier_links_to_its_differences(
    planted: psycopg.Connection,
) -> None:
    group = {"kind": "reorder", "dimension": "supplier", "value": "-", "differing": 1}
    counts = {"only_a": 0, "only_b": 0, "changed": 1, "delta_minor": -500}
    planted.execute("UPDATE app.history_difference SET supplier = '' WHERE rank = 1")
    planted.execute(
        "UPDATE app.history_request SET result = jsonb_set(result::jsonb, '{groups}', %s) WHERE id"
        " = 900001",
        (json.dumps([group | counts]),),
    )
    client = person("analyst")
    path = "/history/differences/900001/"

    [link] = re.findall(r'<a href="([^"]+)">-</a>', page(client, f"{path}?by=supplier"))

    shown = page(client, path + link.replace("&amp;", "&"))
    assert "1 to 1 of 1, largest money first" in shown
    assert "Supplier: -" in shown


@pytest.mark.parametrize("kind", ["query", "question"])
def test_a_refused_question_keeps_its_input(planted: psycopg.Connection, kind: str) -> None:
    questions = [{"name": name, "text": name, "statement": "SELECT 1"} for name in ("one", "two")]
    import_module("ledger.requests.execution").write_snapshot({"questions": questions})
    given = {"name": "two"} if kind == "question" else {"statement": "SELECT 7 AS seven"}

    answer = post(person("lead"), "/history/ask", kind=kind, run="none", **given)
    asked = post(person("analyst"), "/history/ask", kind=kind, run="no run", **given)

    text = asked.content.decode()
    assert (answer.status_code, asked.status_code) == (422, 422)
    assert "<h1>Questions</h1>" in text
    assert "You had filled in" not in text
    if kind == "question":
        assert 'value="two" checked' in text
        assert "SELECT store, sum(sold_units)" in text
    else:
        assert ">SELECT 7 AS seven</textarea>" in text

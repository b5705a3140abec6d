"""A page has few SQL statements, and their number doesn't depend on the number of rows."""

from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from ledger import services
from tests.ledger.inbox import level, state
from tests.ledger.pages import person
from tests.ledger.rows import reorder_proposal

BUDGET = 8


def statements(client: Client, path: str) -> list[str]:
    """Return the SQL statements of a page, including those for session and person."""
    with CaptureQueriesContext(connection) as asked:
        answer: Any = client.get(path)
    assert answer.status_code == 200
    return [query["sql"] for query in asked.captured_queries]


@pytest.mark.parametrize("role", ["buyer", "associate"])
@pytest.mark.parametrize("view", ["open", "held", "closed"])
def test_the_reorders_desk_takes_few_statements_however_many_needs_it_shows(
    ledger: psycopg.Connection, role: str, view: str
) -> None:
    status = {"open": "open", "held": "snoozed", "closed": "cancelled"}[view]
    client, taken = person(role), []

    for number in (0, 1, 30):
        for n in range(number):
            key = {"sku": f"S{n}-{number}", "inv_key": f"L|S{n}-{number}"}
            services.range_item(location="L", sku=key["sku"], policy={"supplier": "ACME"})
            level(ledger, state(sku=key["sku"]))
            reorder_proposal(ledger, reorder_id=f"R:L|{key['sku']}:1-2", status=status, **key)
        taken.append(statements(client, f"/reorders/?view={view}"))

    assert max(len(found) for found in taken) <= BUDGET, taken[-1]

"""The count rule and the tolerance as SQL has them, against the page of rules."""

from datetime import datetime, timedelta

import psycopg

from inventory.inbox import tolerance_units
from tests.ledger.rows import write
from tests.ledger.test_counts import expected, now, sell


def test_expected_is_the_number_of_the_count_rules_table(ledger: psycopg.Connection) -> None:
    """The worked table of docs/domain.md 2.4, its variances by SQL."""
    day = now(ledger).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=1)

    def at(hours: int, minutes: int = 0) -> datetime:
        return day + timedelta(hours=hours, minutes=minutes)

    def count(units: int, when: datetime) -> int:
        return write(ledger, "stock_count", units=units, occurred_at=when)

    opening = count(10, at(8))
    sell(ledger, 2, at(9), "2")
    write(ledger, "shipment_line", received_units=12, order_units=12, received_at=at(9, 30))
    sell(ledger, 1, at(10, 2), "4")
    cycle = count(18, at(10))
    assert (10 - expected(ledger, opening), 18 - expected(ledger, cycle)) == (10, -2)
    late = sell(ledger, 3, at(9, 50), "6")
    assert 18 - expected(ledger, cycle) == 1
    sell(ledger, 1, at(10), "7")
    assert 18 - expected(ledger, cycle) == 2
    second = count(15, at(9, 40))
    assert (15 - expected(ledger, second), 18 - expected(ledger, cycle)) == (-5, 7)
    one, other = count(8, at(10, 30)), count(9, at(10, 30))
    assert 9 - expected(ledger, other) == 1
    before = expected(ledger, one)
    ledger.execute("DELETE FROM retail.sale_line WHERE id = %s", [late])
    assert expected(ledger, one) == before
    assert 18 - expected(ledger, cycle) == 4


def test_sql_and_rule_know_one_tolerance(till: psycopg.Connection) -> None:
    expected_units = [*range(-30, 130), 1_000_000, -1_000_000]

    found = till.execute(
        "SELECT array_agg(app.count_tolerance(n) ORDER BY i)"
        " FROM unnest(%s::bigint[]) WITH ORDINALITY AS given (n, i)",
        [expected_units],
    ).fetchone()

    assert found == ([tolerance_units(units) for units in expected_units],)

"""The count rule and the tolerance in SQL, compared with the rules."""

import random
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest

from inventory.reports.conditions import tolerance_units
from tests.ledger.rows import write
from tests.ledger.test_counts import expected, now, sell


def test_expected_units_in_sql_match_the_count_rule_table_of_domain_md(
    ledger: psycopg.Connection,
) -> None:
    """SQL gives the variances of the worked table in docs/domain.md 2.4."""
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


def test_sql_and_python_compute_the_same_count_tolerance(till: psycopg.Connection) -> None:
    expected_units = [*range(-30, 130), 1_000_000, -1_000_000]

    found = till.execute(
        "SELECT array_agg(app.count_tolerance(n) ORDER BY i)"
        " FROM unnest(%s::bigint[]) WITH ORDINALITY AS given (n, i)",
        [expected_units],
    ).fetchone()

    assert found == ([tolerance_units(units) for units in expected_units],)


def write_any_fact(
    ledger: psycopg.Connection, rng: random.Random, number: int, at: datetime
) -> tuple[str, int]:
    """Write one fact of a random kind at `at`. Return (effect, units) for the test's model."""
    units = rng.randint(1, 9)
    changes: dict[str, Any]
    kinds = (
        "sale",
        "return",
        "damaged",
        "theft",
        "found",
        "dispose",
        "in",
        "out",
        "count",
        "count",
    )
    match rng.choice(kinds):
        case "sale":
            sell(ledger, units, at, str(number))
            return "move", -units
        case "return" | "damaged" as kind:
            condition = "resaleable" if kind == "return" else "damaged"
            changes = {"quantity_units": -units, "condition": condition, "occurred_at": at}
            write(ledger, "sale_line", source_ref=str(number), **changes)
            return "move", units if kind == "return" else 0
        case "theft" | "found" | "dispose" as reason:
            changes = {"reason": reason, "quantity_units": units, "occurred_at": at}
            write(ledger, "stock_adjustment", **changes)
            return "move", {"theft": -units, "found": units, "dispose": 0}[reason]
        case "in":
            changes = {"received_units": units, "order_units": 0, "received_at": at}
            write(ledger, "shipment_line", damaged_units=1, **changes)
            return "move", units
        case "out":
            changes = {"leg": "transfer_out", "status": "shipped", "shipped_at": at}
            nothing = {"received_units": 0, "order_units": 0}
            write(ledger, "shipment_line", shipped_units=units, **changes, **nothing)
            return "move", -units
        case _:
            count_id = write(ledger, "stock_count", units=units, occurred_at=at)
            return f"count {count_id}", units


@pytest.mark.parametrize("seed", range(4))
def test_expected_units_in_sql_match_a_model_in_random_histories(
    ledger: psycopg.Connection, seed: int
) -> None:
    rng = random.Random(seed)  # noqa: S311 -- a history, no secret
    start = now(ledger).replace(microsecond=0) - timedelta(days=2)
    facts: list[tuple[datetime, int, str, int]] = []
    for number in range(80):
        # Use 25 seconds, so that facts share a second. Fractions of a second must not matter.
        at = start + timedelta(seconds=rng.randrange(25))
        kind, units = write_any_fact(
            ledger, rng, number, at + timedelta(microseconds=rng.randrange(10**6))
        )
        counted = int(kind.removeprefix("count ")) if kind != "move" else 0
        facts.append((at, counted, kind, units))

    # Within a second, movements come before counts, and counts are in the order of their ids.
    running = 0
    wanted: dict[int, int] = {}
    for _, counted, _, units in sorted(facts, key=lambda fact: fact[:2]):
        if counted:
            wanted[counted] = running
            running = units
        else:
            running += units

    assert {count_id: expected(ledger, count_id) for count_id in wanted} == wanted
    assert wanted

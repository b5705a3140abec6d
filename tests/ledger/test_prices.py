from datetime import timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from cdc.contracts.times import us_of
from ledger import services
from ledger.kernel.transactions import database_now
from ledger.pricing.prices import next_window_start
from ledger.services import Conflict, PriceWritten, ServiceError
from tests.ledger.concurrency import at_the_same_time
from tests.ledger.rows import price_proposal

# Cost 500, margin 200 permille, tax 20 %: floor 750 (the worked table of the price rules).
POLICY = {
    "cost_minor": 500,
    "margin_permille": 200,
    "tax_bp": 2000,
    "regular_minor": 999,
    "price_mode": "advise",
}


@pytest.fixture
def item(ledger: psycopg.Connection) -> str:
    return services.range_item(location="L", sku="S", policy=POLICY)


@pytest.fixture
def proposal(ledger: psycopg.Connection, item: str) -> str:
    return price_proposal(ledger)


def prices(ledger: psycopg.Connection) -> list[tuple[Any, ...]]:
    return ledger.execute(
        "SELECT price_minor, floor_minor, kind, step, proposal_id FROM retail.price_change"
        " ORDER BY id"
    ).fetchall()


def test_a_price_at_the_floor_is_written_and_one_below_is_not(
    ledger: psycopg.Connection, item: str
) -> None:
    services.set_price(services.SetPrice(location="L", sku="S", price_minor=750), actor="pricing")

    with pytest.raises(ServiceError, match=r"floor of €7\.50"):
        services.set_price(services.SetPrice(location="L", sku="S", price_minor=749))
    assert prices(ledger) == [(750, 750, "manual", 0, None)]


def test_price_starts_with_a_future_window(ledger: psycopg.Connection, item: str) -> None:
    before = database_now()
    services.set_price(
        services.SetPrice(
            location="L", sku="S", price_minor=999, effective_from=before - timedelta(days=1)
        )
    )

    begins = ledger.execute("SELECT effective_from FROM retail.price_change").fetchone()
    assert begins is not None
    assert begins[0] >= next_window_start(before)
    assert us_of(begins[0]) % 600_000_000 == 0


def test_an_initial_price_may_lie_in_the_past(ledger: psycopg.Connection, item: str) -> None:
    past = database_now() - timedelta(days=30)

    services.set_price(
        services.SetPrice(
            location="L", sku="S", price_minor=999, kind="initial", effective_from=past
        )
    )

    assert ledger.execute("SELECT effective_from FROM retail.price_change").fetchone() == (past,)


def test_only_an_approval_writes_a_rule_made_price(ledger: psycopg.Connection, item: str) -> None:
    with pytest.raises(ServiceError, match="kind"):
        services.set_price(services.SetPrice(location="L", sku="S", price_minor=999, kind="rule"))


def test_an_item_must_be_ranged_before_it_has_a_price(ledger: psycopg.Connection) -> None:
    with pytest.raises(ServiceError, match="range the item first"):
        services.set_price(services.SetPrice(location="L", sku="S", price_minor=999))


def test_approving_writes_the_price_and_the_decision(
    ledger: psycopg.Connection, proposal: str
) -> None:
    done = services.approve_price(proposal_id=proposal, shown_revision=1, actor="pricing")

    assert prices(ledger) == [(899, 750, "rule", 1, proposal)]
    assert isinstance(done, PriceWritten)
    decision = ledger.execute(
        "SELECT action, price_revision, recorded_by FROM retail.price_decision"
    ).fetchall()
    assert decision == [("approve", 1, "pricing")]


def test_approved_price_row_is_recorded_before_its_decision_row(
    ledger: psycopg.Connection, proposal: str
) -> None:
    # The proposal's 48 hours are over, but the key has had no record since. Its next record closes
    # the proposal: the price row as accepted, any other record as expired.
    services.approve_price(proposal_id=proposal, shown_revision=1, actor="pricing")

    assert ledger.execute(
        "SELECT price.recorded_at < word.recorded_at FROM retail.price_change AS price,"
        " retail.price_decision AS word"
    ).fetchone() == (True,)


def test_approved_price_starts_at_the_time_of_its_proposal(
    ledger: psycopg.Connection, proposal: str
) -> None:
    later = next_window_start(database_now() + timedelta(hours=5))
    ledger.execute("UPDATE app.price_proposal SET effective_at_us = %s", [us_of(later)])

    services.approve_price(proposal_id=proposal, shown_revision=1)

    assert ledger.execute("SELECT effective_from FROM retail.price_change").fetchone() == (later,)


def test_two_approvals_at_the_same_time_write_one_price(
    ledger: psycopg.Connection, proposal: str
) -> None:
    outcomes = at_the_same_time(
        *(
            lambda: services.approve_price(
                proposal_id=proposal, shown_revision=1, command_id=uuid4()
            )
            for _ in range(3)
        )
    )

    assert sorted(type(outcome).__name__ for outcome in outcomes) == [
        "PriceWritten",
        *["PriceWrittenBefore"] * 2,
    ]
    assert len(prices(ledger)) == 1


def test_price_approval_fails_if_the_cost_raised_the_floor(
    ledger: psycopg.Connection, proposal: str
) -> None:
    services.set_policy(location="L", sku="S", changes={"cost_minor": 600})

    with pytest.raises(ServiceError, match=r"floor of €9\.00"):
        services.approve_price(proposal_id=proposal, shown_revision=1)
    assert prices(ledger) == []
    assert ledger.execute("SELECT count(*) FROM retail.price_decision").fetchone() == (0,)


def test_outdated_revision_of_a_price_proposal_is_not_approved(
    ledger: psycopg.Connection, proposal: str
) -> None:
    ledger.execute("UPDATE app.price_proposal SET revision = 2")

    with pytest.raises(Conflict, match="You saw revision 1"):
        services.approve_price(proposal_id=proposal, shown_revision=1)


def test_the_kill_switch_stops_rule_made_prices_only(
    ledger: psycopg.Connection, proposal: str
) -> None:
    services.set_price_kill_switch(is_on=True, actor="pricing")

    with pytest.raises(Conflict, match="Rule-made prices are stopped"):
        services.approve_price(proposal_id=proposal, shown_revision=1)
    services.set_price(services.SetPrice(location="L", sku="S", price_minor=899))

    services.set_price_kill_switch(is_on=False, actor="pricing")
    services.approve_price(proposal_id=proposal, shown_revision=1)
    assert [price[2] for price in prices(ledger)] == ["manual", "rule"]


def test_a_second_rule_made_price_on_a_day_is_refused(
    ledger: psycopg.Connection, proposal: str
) -> None:
    other = price_proposal(ledger, proposal_id="P:L|S:1-9", new_minor=849)
    services.approve_price(proposal_id=proposal, shown_revision=1)

    with pytest.raises(Conflict, match="the rules already changed the price"):
        services.approve_price(proposal_id=other, shown_revision=1)


def test_rejecting_and_snoozing_are_decision_rows(
    ledger: psycopg.Connection, proposal: str
) -> None:
    services.snooze_price(proposal_id=proposal, shown_revision=1)
    other = price_proposal(ledger, proposal_id="P:L|S:1-3")
    services.reject_price(proposal_id=other, shown_revision=1, reason="season")

    assert ledger.execute(
        "SELECT action, reason FROM retail.price_decision ORDER BY id"
    ).fetchall() == [("snooze", None), ("reject", "season")]


def test_rolling_back_writes_the_price_before_but_never_below_the_floor(
    ledger: psycopg.Connection, item: str
) -> None:
    past = database_now() - timedelta(days=30)
    for days, price in ((0, 800), (10, 899)):
        ledger.execute(
            "INSERT INTO retail.price_change (inv_key, location, sku, effective_from, price_minor,"
            " step, kind, floor_minor) VALUES ('L|S', 'L', 'S', %s, %s, 0, 'manual', 0)",
            [past + timedelta(days=days), price],
        )
    services.set_policy(location="L", sku="S", changes={"cost_minor": 560})

    services.roll_back_price(location="L", sku="S", actor="pricing")

    assert prices(ledger)[-1] == (840, 840, "rollback", 0, None)

"""The stop of rule-made prices also holds for prices that are approved and not in force yet."""

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from cdc.contracts.times import us_of
from ledger import services
from ledger.access.scope import Scope, within
from ledger.kernel.transactions import database_now
from ledger.pricing.prices import next_window_start
from ledger.services import Conflict, PricesStopped, PriceWritten
from tests.ledger.concurrency import at_the_same_time
from tests.ledger.rows import price_proposal
from tests.ledger.test_prices import POLICY
from webui.readmodel.price_stop import price_stop


@pytest.fixture
def item(ledger: psycopg.Connection) -> str:
    key = services.range_item(location="L", sku="S", policy=POLICY)
    services.set_price(
        services.SetPrice(
            location="L",
            sku="S",
            price_minor=999,
            kind="initial",
            effective_from=database_now() - timedelta(days=30),
        )
    )
    return key


def approved(ledger: psycopg.Connection, begins: datetime, identity: str = "P:L|S:1-2") -> None:
    price_proposal(ledger, proposal_id=identity, effective_at_us=us_of(begins))
    services.approve_price(proposal_id=identity, shown_revision=1)


def timeline(ledger: psycopg.Connection) -> list[tuple[Any, ...]]:
    return ledger.execute(
        "SELECT kind, price_minor, step, effective_from FROM retail.price_change"
        " WHERE kind <> 'initial' ORDER BY effective_from, id"
    ).fetchall()


def test_a_stop_rolls_back_an_approved_price_at_its_own_start(
    ledger: psycopg.Connection, item: str
) -> None:
    begins = next_window_start(database_now()) + timedelta(hours=1)
    approved(ledger, begins)

    stopped = services.set_price_kill_switch(is_on=True, actor="pia")
    again = services.set_price_kill_switch(is_on=True, actor="pia")
    services.set_price_kill_switch(is_on=False, actor="pia")

    assert (stopped, again) == (PricesStopped(1), PricesStopped(0))
    assert timeline(ledger) == [("rule", 899, 1, begins), ("rollback", 999, 0, begins)]


def test_price_stop_changes_no_price_in_force_and_no_manual_price(
    ledger: psycopg.Connection, item: str
) -> None:
    begins = next_window_start(database_now()) + timedelta(hours=1)
    ledger.execute(
        "INSERT INTO retail.price_change"
        " (inv_key, location, sku, price_minor, floor_minor, effective_from, kind, step)"
        " VALUES ('L|S', 'L', 'S', 899, 750, now() - interval '1 hour', 'rule', 1)"
    )
    services.set_price(
        services.SetPrice(location="L", sku="S", price_minor=949, effective_from=begins)
    )
    before = timeline(ledger)

    assert services.set_price_kill_switch(is_on=True, actor="pia") == PricesStopped(0)
    assert timeline(ledger) == before


def test_price_stop_rolls_back_a_rule_price_before_a_later_manual_price(
    ledger: psycopg.Connection, item: str
) -> None:
    begins = next_window_start(database_now()) + timedelta(hours=1)
    later = begins + timedelta(hours=1)
    approved(ledger, begins)
    services.set_price(
        services.SetPrice(location="L", sku="S", price_minor=949, effective_from=later)
    )

    assert services.set_price_kill_switch(is_on=True, actor="pia") == PricesStopped(1)
    assert timeline(ledger) == [
        ("rule", 899, 1, begins),
        ("rollback", 999, 0, begins),
        ("manual", 949, 0, later),
    ]


def test_price_stop_during_an_approval_leaves_no_scheduled_price(
    ledger: psycopg.Connection, item: str
) -> None:
    begins = next_window_start(database_now()) + timedelta(hours=1)
    price_proposal(ledger, effective_at_us=us_of(begins))

    approval, stop = at_the_same_time(
        lambda: services.approve_price(proposal_id="P:L|S:1-2", shown_revision=1),
        lambda: services.set_price_kill_switch(is_on=True, actor="pia", command_id=uuid4()),
    )

    assert isinstance(stop, PricesStopped)
    assert isinstance(approval, PriceWritten if stop.rolled_back else Conflict)
    assert [row[0] for row in timeline(ledger)] in ([], ["rule", "rollback"])


def test_price_stop_logs_a_scheduled_price_without_an_earlier_price(
    ledger: psycopg.Connection,
) -> None:
    services.range_item(location="L", sku="S", policy=POLICY)
    approved(ledger, next_window_start(database_now()) + timedelta(hours=1))
    ledger.execute("UPDATE retail.item_location SET regular_minor = NULL")

    assert services.set_price_kill_switch(is_on=True, actor="pia") == PricesStopped(0)

    assert [row[0] for row in timeline(ledger)] == ["rule"]
    assert ledger.execute("SELECT price_kill_switch FROM app.setting").fetchone() == (True,)
    logged = ledger.execute(
        "SELECT detail -> 'kept' FROM app.action_log WHERE action = 'price_kill_switch'"
    ).fetchone()
    assert logged == (["L|S"],)


def test_price_stop_logs_an_item_whose_floor_exceeds_the_highest_price(
    ledger: psycopg.Connection, item: str
) -> None:
    begins = next_window_start(database_now()) + timedelta(hours=1)
    approved(ledger, begins)
    services.range_item(location="L", sku="T", policy=POLICY)
    price_proposal(
        ledger, proposal_id="P:L|T:1-3", inv_key="L|T", sku="T", effective_at_us=us_of(begins)
    )
    services.approve_price(proposal_id="P:L|T:1-3", shown_revision=1)
    # The floor becomes 24,000,000.00, and the highest price is 10,000,000.00.
    mistyped = {"cost_minor": 2_000_000, "margin_permille": 999}
    services.set_policy(location="L", sku="T", changes=mistyped)

    assert services.set_price_kill_switch(is_on=True, actor="pia") == PricesStopped(1)

    assert [row[0] for row in timeline(ledger)] == ["rule", "rule", "rollback"]
    assert ledger.execute("SELECT price_kill_switch FROM app.setting").fetchone() == (True,)
    logged = ledger.execute(
        "SELECT detail -> 'kept' FROM app.action_log WHERE action = 'price_kill_switch'"
    ).fetchone()
    assert logged == (["L|T"],)


@pytest.mark.usefixtures("ledger")
def test_the_author_of_a_stop_stays_the_author_after_another_setting_changes() -> None:
    services.set_price_kill_switch(is_on=True, actor="pia")
    services.set_adjustment_limit(limit_minor=5, actor="mia")

    with within(Scope(everywhere=False, stores=frozenset({"L"}))):
        found = price_stop()

    assert found is not None
    assert (found.is_stopped, found.updated_by) == (True, "pia")


def test_a_stop_by_sql_names_the_author_of_the_row(ledger: psycopg.Connection) -> None:
    services.set_price_kill_switch(is_on=True, actor="pia")
    services.set_price_kill_switch(is_on=False, actor="pia")
    ledger.execute("UPDATE app.setting SET price_kill_switch = true, updated_by = 'admin'")

    found = price_stop()

    assert found is not None
    assert found.updated_by == "admin"


@pytest.mark.usefixtures("ledger")
def test_a_switch_that_was_never_used_has_no_author() -> None:
    services.set_adjustment_limit(limit_minor=5, actor="mia")

    found = price_stop()

    assert found is not None
    assert (found.is_stopped, found.updated_by) == (False, None)

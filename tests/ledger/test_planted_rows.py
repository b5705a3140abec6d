"""`inventory bench verify` restores the rows that it falsified, or notices that they changed."""

from datetime import timedelta

import psycopg
import pytest

from bench.verification.rows import LEVEL_COUNTER, counter, proposal, undecided_need
from bench.verification.shop import PlantFailed
from tests.ledger.rows import reorder_proposal

KEY = "L|S"
IDS = "SELECT reorder_id, status FROM app.reorder_proposal ORDER BY reorder_id"


def stocked(sinks: psycopg.Connection) -> None:
    sinks.execute(
        "INSERT INTO read_model.stock (inv_key, location, sku, on_hand_units, unavailable_units,"
        " on_order_units, in_transit_units, allocated_units, available_to_sell_units, stock_known,"
        " base_position_units, requested_units, price_step, episode_state, policy_active,"
        ' generation, partition, "offset", logic_revision, as_of_us, state)'
        " VALUES (%s, 'L', 'S', 20, 0, 0, 0, 0, 20, true, 20, 0, 0, 'idle', false, 1, 0, 1, 1, 1,"
        " '{}')",
        [KEY],
    )


def on_hand(sinks: psycopg.Connection) -> tuple[int]:
    found = sinks.execute("SELECT on_hand_units FROM read_model.stock").fetchone()
    assert found is not None
    return (found[0],)


def test_planted_stock_level_is_restored(sinks: psycopg.Connection) -> None:
    stocked(sinks)

    with counter(sinks, LEVEL_COUNTER, KEY) as wrong:
        assert wrong.is_there()
        assert on_hand(sinks) == (21,)

    assert on_hand(sinks) == (20,)


def test_planted_stock_level_overwritten_by_a_sale_is_not_restored(
    sinks: psycopg.Connection,
) -> None:
    stocked(sinks)

    with counter(sinks, LEVEL_COUNTER, KEY) as wrong:
        # The same number again: only the row's version shows that it was written.
        sinks.execute("UPDATE read_model.stock SET on_hand_units = 21")
        assert not wrong.is_there()

    assert on_hand(sinks) == (21,)


def test_planted_proposal_is_replaced_by_the_original_one(
    ledger: psycopg.Connection, sinks: psycopg.Connection
) -> None:
    name = reorder_proposal(ledger, reorder_id=f"R:{KEY}:1-2", inv_key=KEY, sku="S")

    with proposal(sinks, KEY) as wrong:
        assert wrong.is_there()
        assert sinks.execute(IDS).fetchall() == [(f"R:{KEY}:0-1", "open")]

    assert sinks.execute(IDS).fetchall() == [(name, "open")]


def test_planted_proposal_superseded_by_a_worker_is_not_restored(
    ledger: psycopg.Connection, sinks: psycopg.Connection
) -> None:
    name = reorder_proposal(ledger, reorder_id=f"R:{KEY}:1-2", inv_key=KEY, sku="S")

    with proposal(sinks, KEY) as wrong:
        sinks.execute("UPDATE app.reorder_proposal SET status = 'superseded'")
        reorder_proposal(ledger, reorder_id=name, inv_key=KEY, sku="S")
        assert not wrong.is_there()

    assert sinks.execute(IDS).fetchall() == [(f"R:{KEY}:0-1", "superseded"), (name, "open")]


def test_decided_need_is_not_chosen_for_planting(
    ledger: psycopg.Connection, sinks: psycopg.Connection
) -> None:
    """In a demo, simulated buyers decide needs of every location."""
    for number in (1, 2):
        key = f"L|N{number}"
        reorder_proposal(ledger, reorder_id=f"R:{key}:1-{number}", inv_key=key, sku=f"N{number}")
    keys = ["L|N1", "L|N2"]
    decide = "UPDATE app.reorder_proposal SET decided_at = now() WHERE inv_key = %s"

    sinks.execute(decide, ["L|N1"])
    assert undecided_need(sinks, keys) == "L|N2"

    sinks.execute(decide, ["L|N2"])
    with pytest.raises(PlantFailed, match=r"no undecided row of L\|N1 to L\|N2"):
        undecided_need(sinks, keys)


def test_a_planted_proposal_is_too_new_for_the_simulated_buyers(
    ledger: psycopg.Connection, sinks: psycopg.Connection
) -> None:
    reorder_proposal(ledger, reorder_id=f"R:{KEY}:1-2", inv_key=KEY, sku="S")
    age = "UPDATE app.reorder_proposal SET updated_at = now() - interval '1 day'"
    sinks.execute(age)

    with proposal(sinks, KEY):
        row = sinks.execute("SELECT now() - updated_at FROM app.reorder_proposal").fetchone()

    assert row is not None
    assert row[0] < timedelta(hours=1)

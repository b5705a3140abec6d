"""Decisions become proposals: once, with the newest revision, never for simulated keys."""

from dataclasses import replace
from typing import Any

import psycopg
from confluent_kafka import Producer

from cdc.contracts.decisions import DecisionContext, ReorderEvent, encode_reorder
from cdc.contracts.rejects import Origin
from cdc.contracts.topics import REORDER_EVENTS
from inventory.model.ids import ReorderId
from inventory.model.outputs import ReorderOutput
from inventory.revision import LOGIC_REVISION
from tests.stack.running import RunningStack

KEY = "ACT|X"
# No record caused these decisions. The offset is far beyond the end of every log, so that no
# recomputation in another test reaches it.
NOWHERE = Origin(1, 0, 1_000_000_000_000)
OPENED = ReorderEvent(
    ReorderOutput(
        id=ReorderId(f"R:{KEY}:1-10"),
        revision=2,
        status="open",
        quantity_units=24,
        base_position_units=5,
        reorder_point_units=6,
        order_up_to_units=30,
        flags=("review",),
        reason=None,
        terms=(("need", 25),),
    ),
    supplier="ACME",
    cost_minor=120,
    at=DecisionContext(KEY, NOWHERE, 1_795_229_285_100_000, LOGIC_REVISION),
)


def revised(**changes: Any) -> bytes:
    return encode_reorder(replace(OPENED, output=replace(OPENED.output, **changes)))


def produce(stack: RunningStack, *values: bytes) -> None:
    producer = Producer(
        {"bootstrap.servers": stack.settings.kafka_bootstrap, "partitioner": "murmur2_random"}
    )
    for value in values:
        producer.produce(REORDER_EVENTS, value, KEY.encode())
    assert producer.flush(30) == 0


def proposals(stack: RunningStack) -> list[tuple[object, ...]]:
    url = stack.settings.read_database_url.get_secret_value()
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(
            "SELECT reorder_id, revision, status, quantity_units, flags FROM app.reorder_proposal"
            " WHERE inv_key = %s ORDER BY reorder_id",
            (KEY,),
        ).fetchall()


def test_the_highest_revision_is_stored_and_a_new_need_supersedes_the_old(
    stack: RunningStack,
) -> None:
    first, second = f"R:{KEY}:1-10", f"R:{KEY}:1-200"

    produce(
        stack,
        revised(),
        revised(revision=1, quantity_units=3),
        revised(id=f"SIM:{first}"),
        b"no decision",
        revised(),
    )
    stack.wait_until(lambda: len(proposals(stack)) == 1)
    assert proposals(stack) == [(first, 2, "open", 24, ["review"])]

    produce(stack, revised(id=second, revision=1, flags=()))
    stack.wait_until(lambda: len(proposals(stack)) == 2)
    assert proposals(stack) == [
        (first, 2, "superseded", 24, ["review"]),
        (second, 1, "open", 24, []),
    ]


def test_a_decided_proposal_keeps_its_quantity_and_its_need_still_closes(
    stack: RunningStack,
) -> None:
    need = f"R:{KEY}:1-300"
    produce(stack, revised(id=need, revision=1))
    stack.wait_until(lambda: any(row[0] == need for row in proposals(stack)))
    url = stack.settings.database_url.get_secret_value()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "UPDATE app.reorder_proposal SET decided_action = 'approve', decided_by = 'ann',"
            " decided_at = now() WHERE reorder_id = %s",
            (need,),
        )

    produce(
        stack,
        revised(id=need, revision=2, quantity_units=99),
        revised(id=need, revision=3, status="accepted", quantity_units=None, flags=()),
    )

    stack.wait_until(
        lambda: proposals(stack)[-1][2] == "accepted", describe=lambda: proposals(stack)
    )
    assert proposals(stack)[-1] == (need, 3, "accepted", 24, [])

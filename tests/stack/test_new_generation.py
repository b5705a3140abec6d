"""A new generation of a log shows the same numbers and orders nothing twice.

Uses a separate stack, because its topics are moved to another directory.
"""

import getpass
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from confluent_kafka import Producer

from analytics import kafka
from analytics.archive.complete import archive_until
from analytics.archive.manifest import BrokenArchive
from analytics.archive.move_away import move_archive_away
from analytics.archive.names import SOURCE
from analytics.archive.source import source_id
from cdc.contracts.topics import STOCK_EVENTS
from cdc.settings import Connections
from inventory.revision import LOGIC_REVISION
from tests.analytics.shop import Shop
from tests.stack.running import COMMAND_S, RunningStack, run_inventory, start
from tests.stack.test_lost_topics import PARTS, recreated
from tests.stack.test_revisions import code_of, desk, report, revisions, sell, wait_for_desk

pytestmark = pytest.mark.soak

OTHER = LOGIC_REVISION + 1  # with the same rules
APPROVE = """
import sys
import django
django.setup()
from ledger.services import ApproveReorder, approve_reorder
print(approve_reorder(ApproveReorder(sys.argv[1], int(sys.argv[2]))).line_ids[0])
"""
# Columns that don't depend on offsets or the generation, so both generations show the same.
SHOWN = """
SELECT sku, on_hand_units, unavailable_units, in_transit_units, allocated_units,
    available_to_sell_units, stock_known, reorder_point_units, order_up_to_units,
    demand_rate_micro, price_minor, policy_active
FROM read_model.stock WHERE location = %s ORDER BY sku
"""
COMING = """
SELECT sku, on_order_units, base_position_units FROM read_model.stock WHERE location = %s
ORDER BY sku
"""
SOLD = """
SELECT inv_key, start_us, sold_units, returned_units, revenue_minor FROM read_model.sales_window
WHERE starts_with(inv_key, %s) AND (sold_units, returned_units) <> (0, 0) ORDER BY inv_key, start_us
"""
NEEDS = """
SELECT status, reason, reorder_id FROM app.reorder_proposal WHERE inv_key = %s ORDER BY reorder_id
"""
ORDERED = "SELECT * FROM retail.purchase_order_line WHERE location = %s ORDER BY id"
TAKEN_BACK = """
SELECT former, switched_by FROM app.revision_switch WHERE position(%s IN switched_by) > 0
"""
GENERATIONS = "SELECT generation FROM read_model.stock WHERE location = %s"


@dataclass(frozen=True)
class NewGeneration:
    """A stack in its second generation, and its data from before."""

    own: RunningStack
    shop: Shop
    # Results of `inventory generation` on a running stack, then without --yes, then with it.
    answers: list[subprocess.CompletedProcess[str]]
    needed: dict[str, tuple[Any, ...]]
    shown: list[tuple[Any, ...]]
    sold: list[tuple[Any, ...]]
    coming: list[tuple[Any, ...]]
    need: str  # approved after the last record of the first generation
    line: str  # order line that answers the need
    ordered: list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStack]:
    """A stack with one worker, and the services that `inventory verify` needs."""
    home = tmp_path_factory.mktemp("generation") / "home"
    try:
        yield start(home, "--workers", "1", "--only", PARTS)
    finally:
        run_inventory("down", home=home)


def rows(shop: Shop, statement: str, value: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(shop.url, autocommit=True) as connection:
        return connection.execute(statement.encode(), (value,)).fetchall()


def needs(shop: Shop, sku: str) -> list[tuple[Any, ...]]:
    """Return status, reason and id of all proposals that the item ever had."""
    return rows(shop, NEEDS, f"{shop.location}|{sku}")


def approve(own: RunningStack, need: str) -> str:
    """Approve the first revision of a need as a buyer. Return the order line."""
    mine = {key: found for key, found in os.environ.items() if not key.startswith("INVENTORY_")}
    done = subprocess.run(  # noqa: S603 -- our own code
        [sys.executable, "-c", APPROVE, need, "1"],
        env=mine | dict(own.environment) | {"DJANGO_SETTINGS_MODULE": "webui.config.settings"},
        capture_output=True,
        text=True,
        timeout=COMMAND_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def verified(own: RunningStack) -> dict[str, Any]:
    checked = own.cli("verify", "--json")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    return dict(json.loads(checked.stdout))


def again(own: RunningStack, parts: str) -> RunningStack:
    """Start the same home once more. Return its stack."""
    return start(own.home.path, "--workers", "1", "--only", parts)


@pytest.fixture(scope="module")
def renewed(own: RunningStack) -> NewGeneration:
    """Set up a shop with two needs, one of them ordered. Then start a new generation."""
    shop = Shop(own.settings.owner_database_url.get_secret_value())
    shop.trade()
    sell(own, shop, "B", 95)
    sell(own, shop, "C", 90)
    own.wait_until(lambda: desk(own, shop).keys() == {"B", "C"})
    verified(own)
    needed = desk(own, shop)
    shown, sold, coming = (rows(shop, said, shop.location) for said in (SHOWN, SOLD, COMING))
    answers = [own.cli("generation", "--yes")]
    own.cli("down")
    answers.append(own.cli("generation"))
    own = again(own, "postgres")
    # Only Postgres runs, so the log of this generation never gets this order.
    [(_, _, need)] = needs(shop, "C")
    line = approve(own, need)
    ordered = rows(shop, ORDERED, shop.location)
    own.cli("down")
    answers.append(own.cli("generation", "--yes"))
    own = again(own, PARTS)
    own.wait_until(lambda: desk(own, shop).keys() == {"B"})
    verified(own)
    return NewGeneration(own, shop, answers, needed, shown, sold, coming, need, line, ordered)


def test_a_new_generation_is_refused_on_a_running_stack_and_without_yes(
    renewed: NewGeneration,
) -> None:
    running, unasked, done = renewed.answers

    assert (running.returncode, unasked.returncode, done.returncode) == (1, 1, 0)
    assert "the stack runs" in running.stderr
    assert "inventory generation --yes" in unasked.stderr
    assert "begins generation 2" in done.stdout


def test_a_new_generation_shows_the_same_stock_sales_and_orders(renewed: NewGeneration) -> None:
    shop = renewed.shop
    found = {row[0] for row in rows(shop, GENERATIONS, shop.location)}

    assert found == {2}
    assert rows(shop, SHOWN, shop.location) == renewed.shown
    assert rows(shop, SOLD, shop.location) == renewed.sold
    bought = {"C": renewed.needed["C"][0]}
    assert rows(shop, COMING, shop.location) == [
        (sku, ordered + bought.get(sku, 0), position + bought.get(sku, 0))
        for sku, ordered, position in renewed.coming
    ]
    checked = renewed.own.cli("backfill", "verify", "--json")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_new_generation_reopens_open_needs_and_orders_nothing_twice(
    renewed: NewGeneration,
) -> None:
    shop = renewed.shop
    [former, fresh], [bought] = needs(shop, "B"), needs(shop, "C")

    assert former[:2] == bought[:2] == ("superseded", "generation")
    assert fresh[0] == "open"
    assert fresh[-1].startswith(f"R:{shop.location}|B:2-")
    assert desk(renewed.own, shop) == {"B": renewed.needed["B"]}
    assert approve(renewed.own, renewed.need) == renewed.line
    assert rows(shop, ORDERED, shop.location) == renewed.ordered


def test_new_sales_open_needs_in_the_new_generation(renewed: NewGeneration) -> None:
    own, shop = renewed.own, renewed.shop

    sell(own, shop, "A", 95)

    own.wait_until(lambda: desk(own, shop).keys() == {"A", "B"})
    verified(own)
    # Proposals of the former generation have no record in this log. They are counted separately.
    compared = own.cli("backfill", "verify", "--json")
    assert compared.returncode == 0, compared.stdout + compared.stderr
    assert json.loads(compared.stdout)["proposals_of_former_generations"] > 0


def test_own_rules_decide_again_after_a_promoted_revision_loses_its_log(
    renewed: NewGeneration, tmp_path: Path
) -> None:
    own, shop = renewed.own, renewed.shop
    code = code_of(OTHER, tmp_path / "other")
    started = own.cli("revision", "start", str(OTHER), "--code", str(code))
    assert started.returncode == 0, started.stderr
    report(own, "promote", str(OTHER))
    needed = desk(own, shop)
    assert {made_by for _, made_by in needed.values()} == {OTHER}

    recreated(own, STOCK_EVENTS)
    own.cli("down")
    unasked = own.cli("generation", "--yes")
    done = own.cli("generation", "--yes", "--own-rules")

    assert unasked.returncode == 1
    assert f"would be moved away: v{OTHER}" in unasked.stderr
    assert "inventory generation --yes --own-rules" in unasked.stderr
    assert f"logic revision {LOGIC_REVISION}, of this code, decides from then on" in done.stdout
    own = again(own, PARTS)
    wait_for_desk(own, shop, {sku: (units, LOGIC_REVISION) for sku, (units, _) in needed.items()})
    verified(own)
    assert [(number, one["decides"]) for number, one in revisions(own).items()] == [
        (LOGIC_REVISION, True)
    ]
    [(former, by)] = rows(shop, TAKEN_BACK, "generation 3")
    assert (former, by) == (OTHER, f"{getpass.getuser()}, generation 3")


def archive_all(settings: Connections) -> str | None:
    """Archive all records of the topic. Return the id of the archive's topic."""
    asked = settings.kafka_bootstrap, STOCK_EVENTS, settings.partitions
    archive_until(settings, kafka.end_offsets(*asked))
    return source_id(settings.archive_dir)


def test_an_archive_without_topic_id_is_identified_by_its_last_records(
    renewed: NewGeneration, tmp_path: Path
) -> None:
    settings = renewed.own.settings.model_copy(update={"home": tmp_path})
    archive, asked = settings.archive_dir, (settings.kafka_bootstrap, STOCK_EVENTS)
    former = archive_all(settings)
    (archive / SOURCE).unlink()
    assert archive_all(settings) == former == kafka.topic_id(*asked)
    (archive / SOURCE).unlink()
    longest = max(kafka.end_offsets(*asked, settings.partitions).values())

    recreated(renewed.own, STOCK_EVENTS)
    producer = Producer({"bootstrap.servers": settings.kafka_bootstrap, "acks": "all"})
    for number in range(settings.partitions * (longest + 1)):
        partition = number % settings.partitions
        producer.produce(STOCK_EVENTS, b"another history", b"L|S", partition=partition)
        producer.poll(0)
    assert producer.flush(60) == 0

    with pytest.raises(BrokenArchive, match="rearchive --yes") as refused:
        archive_all(settings)
    assert "ends with another record at stock.events[" in str(refused.value)
    with pytest.raises(BrokenArchive, match="ends with another record"):
        archive_until(settings, dict.fromkeys(range(settings.partitions), 1))
    assert source_id(archive) is None
    assert move_archive_away(archive, timeout_s=0) == tmp_path / "former" / "archive-1"
    assert archive_all(settings) == kafka.topic_id(*asked) != former

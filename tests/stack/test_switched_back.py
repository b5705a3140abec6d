"""A cut-over while the new revision lags, and a rollback after orders of its proposals."""

from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.analytics.shop import Shop
from tests.stack.running import RunningStack
from tests.stack.test_new_generation import NEEDS, ORDERED, approve
from tests.stack.test_revisions import (
    OURS,
    SAME,
    code_of,
    desk,
    is_verified,
    revisions,
    sell,
    shop,
    wait_for_desk,
)

__all__ = ["shop"]  # a fixture, which pytest finds in this module

pytestmark = pytest.mark.soak


def rows(shop: Shop, statement: str, value: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(shop.url, autocommit=True) as connection:
        return connection.execute(statement.encode(), (value,)).fetchall()


def open_needs(shop: Shop, sku: str) -> list[str]:
    """Return the ids of the item's open proposals."""
    found = rows(shop, NEEDS, f"{shop.location}|{sku}")
    return [str(need) for status, _, need in found if status == "open"]


def test_a_lagging_cutover_and_a_rollback_lose_nothing_and_order_nothing_twice(
    stack: RunningStack, shop: Shop, tmp_path: Path
) -> None:
    start = ("revision", "start", str(SAME), "--code", str(code_of(SAME, tmp_path / "same")))
    assert stack.cli(*start).returncode == 0
    assert stack.cli("revision", "retire", str(SAME)).returncode == 0
    sell(stack, shop, "B", 95)
    stack.wait_until(lambda: "B" in desk(stack, shop))
    before = desk(stack, shop)

    behind = stack.cli("backfill", "cutover", str(SAME), "--timeout", "10")

    assert behind.returncode == 1
    assert f"logic revision {SAME} is " in behind.stderr
    assert "records behind" in behind.stderr
    assert revisions(stack)[OURS]["decides"]
    assert desk(stack, shop) == before

    assert stack.cli(*start).returncode == 0
    done = stack.cli("backfill", "cutover", str(SAME), "--json")
    assert done.returncode == 0, done.stderr
    assert desk(stack, shop) == {sku: (units, SAME) for sku, (units, _) in before.items()}
    ordered = len(rows(shop, ORDERED, shop.location))
    [need] = open_needs(shop, "B")
    approve(stack, need)
    stack.wait_until(lambda: "B" not in desk(stack, shop))

    back = stack.cli("backfill", "rollback", "--json")

    assert back.returncode == 0, back.stderr
    rest = {sku: (units, OURS) for sku, (units, _) in before.items() if sku != "B"}
    wait_for_desk(stack, shop, rest)
    assert open_needs(shop, "B") == []
    assert len(rows(shop, ORDERED, shop.location)) == ordered + 1
    assert is_verified(stack, shop)

"""Fixture for all tests of this folder: the planned keys and history of the demo retailer."""

from datetime import UTC, datetime

import pytest

from bench.retailer.history import plan_history
from bench.retailer.history_values import History
from bench.retailer.retailer import SIZES, PlannedKey, plan

MIDNIGHT = datetime(2026, 3, 2, tzinfo=UTC)


@pytest.fixture(scope="session")
def demo() -> tuple[list[PlannedKey], History]:
    _, keys = plan(1, SIZES["demo"])
    return keys, plan_history(1, MIDNIGHT, keys)

"""Counts of simulated staff: none is lost, and each one has the right item."""

import time

import psycopg
import pytest
from django.db import OperationalError

from bench.retailer import staff
from bench.retailer.counting import Counting, Found
from bench.retailer.shelves import shops_of_demo
from bench.retailer.tally import Traded
from ledger import services
from ledger.kernel.transactions import database_now


def test_a_sheet_with_a_refused_item_still_counts_the_right_item(
    retailer: psycopg.Connection,
) -> None:
    shop = shops_of_demo()[0]
    services.approve_count(services.ApproveCount(location=shop.location, sku=shop.sku, units=100))
    counting = Counting(Traded())
    for sku in ("!", shop.sku):
        counting.found.put(Found(shop.location, sku, 3, database_now(), f"errand {sku}"))

    counting.work()

    assert counting.done.counts == 1


@pytest.mark.parametrize("name", ["open_sheet", "add_entries", "submit_sheet"])
@pytest.mark.parametrize("calls_before", [0, 1])
def test_a_database_loss_during_a_sheet_submission_loses_no_count(
    retailer: psycopg.Connection, monkeypatch: pytest.MonkeyPatch, name: str, calls_before: int
) -> None:
    shop = shops_of_demo()[0]
    services.approve_count(services.ApproveCount(location=shop.location, sku=shop.sku, units=100))
    service, seen = getattr(services, name), []

    def losing(**given: object) -> object:
        answer = service(**given)
        seen.append(given)
        if len(seen) == calls_before + 1:
            problem = "the connection is lost"
            raise OperationalError(problem)
        return answer

    monkeypatch.setattr(f"bench.retailer.counting.{name}", losing)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    counting = Counting(Traded())
    counting.found.put(Found(shop.location, shop.sku, 3, database_now(), "errand-1"))

    staff.retry_on_database_loss(counting.work)

    assert counting.done.counts == 1

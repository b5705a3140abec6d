"""`verify` on the running stack reports exactly the damaged key, and nothing without damage."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from analytics.verify import BehindReport, VerifyReport, verify
from bench.verification.planted_errors import KINDS
from tests.analytics.shop import Shop
from tests.stack.running import RunningStack


def a_shop(stack: RunningStack) -> Shop:
    shop = Shop(stack.settings.owner_database_url.get_secret_value())
    shop.trade()
    return shop


def test_verify_finds_no_difference_on_an_undamaged_stack(
    stack: RunningStack,
) -> None:
    shop = a_shop(stack)

    report = verify(shop.location, settings=stack.settings)

    found = report.as_json()
    assert report.ok, json.dumps(found, indent=1)
    assert found["keys_compared"] == 3
    assert found["sale_lines_committed"] == 89
    assert found["sale_lines_counted"] == 89
    assert found["windows_compared"] > 3


@contextmanager
def shown_wrong(shop: Shop, more: int) -> Iterator[None]:
    """Raise on-hand and units sold in the read model by `more`; restore them at the end."""
    raise_shown(shop, more)
    try:
        yield
    finally:
        raise_shown(shop, -more)


def raise_shown(shop: Shop, more: int) -> None:
    values = {"more": more, "stock": f"{shop.location}|C", "sold": f"{shop.location}|B"}
    with psycopg.connect(shop.url, autocommit=True) as connection:
        connection.execute(
            "UPDATE read_model.stock SET on_hand_units = on_hand_units + %(more)s"
            " WHERE inv_key = %(stock)s",
            values,
        )
        connection.execute(
            "UPDATE read_model.sales_window SET sold_units = sold_units + %(more)s"
            " WHERE inv_key = %(sold)s",
            values,
        )


def test_verify_names_the_key_whose_shown_number_is_wrong(stack: RunningStack) -> None:
    shop = a_shop(stack)
    assert verify(shop.location, settings=stack.settings).ok

    with shown_wrong(shop, 2):
        report = verify(shop.location, settings=stack.settings)

    assert isinstance(report, VerifyReport)
    assert report.exit_code == 1
    assert [entry["key"] for entry in report.keys] == [f"{shop.location}|C"]
    entry = report.keys[0]
    assert entry["workers"] == entry["facts"]
    assert entry["read_model"]["on_hand"] == entry["facts"]["on_hand"] + 2
    assert {entry["key"] for entry in report.windows} == {f"{shop.location}|B"}


def test_verify_reports_the_lag_if_it_may_not_wait(stack: RunningStack) -> None:
    projector = stack.runtime.services["projector"]
    assert projector.pid is not None
    os.kill(projector.pid, signal.SIGSTOP)
    try:
        report = verify(timeout=0.0, settings=stack.settings)
    finally:
        os.kill(projector.pid, signal.SIGCONT)

    assert isinstance(report, BehindReport)
    assert report.exit_code == 2
    assert report.behind["heartbeats"]


@pytest.mark.soak
def test_verify_reports_a_wrong_row_of_each_kind_during_trade(stack: RunningStack) -> None:
    rounds = str(2 * len(KINDS))

    done = stack.cli("bench", "verify", "--yes", "--rounds", rounds, "--load", "40", "--json")

    assert done.returncode == 0, done.stdout + done.stderr
    kinds = json.loads(done.stdout)["kinds"]
    assert kinds.pop("sound")["exit 0"] == len(KINDS)
    assert {kind: found["exit 1"] for kind, found in kinds.items()} == dict.fromkeys(KINDS, 1)

"""`inventory sales` over the read model's windows."""

from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from pydantic import SecretStr

from analytics.sales import UnknownItem, sales
from cdc.settings import Connections
from inventory.model.arithmetic import MINUTE_US
from tests.ledger.folded import state_of
from tests.ledger.postgres import Server
from tests.ledger.rows import NOON, write
from tests.ledger.shown import AS_OF_US, project


@pytest.fixture
def settings(server: Server, database: str, tmp_path: Path) -> Connections:
    url = SecretStr(server.url("app_ro", database))
    return Connections(home=tmp_path, read_database_url=url)


@pytest.fixture
def shop(ledger: psycopg.Connection) -> psycopg.Connection:
    write(ledger, "item_location", clock_mode="replayed")
    for number, minutes in enumerate((1500, 45, 15, 11)):
        at = NOON - timedelta(minutes=minutes)
        write(ledger, "sale_line", source_ref=str(number), quantity_units=2, occurred_at=at)
    ledger.execute("DELETE FROM read_model.sales_window")
    project(ledger, state_of(ledger, "L|S"))
    return ledger


@pytest.mark.usefixtures("shop")
def test_hops_advance_by_ten_minutes_and_sessions_end_after_half_an_hour(
    settings: Connections,
) -> None:
    report = sales("S", "L", count=3, settings=settings)

    units = {name: [one.units for one in found] for name, found in report.hops.items()}
    assert units == {"hour": [2, 6, 6], "24 hours": [2, 6, 6], "7 days": [4, 8, 8]}
    assert [one.is_settled for one in report.hops["hour"]] == [True, True, False]
    assert [(one.units, one.windows) for one in report.sessions] == [(2, 1), (6, 2)]
    assert report.covered_from_us == AS_OF_US - 1500 * MINUTE_US


@pytest.mark.usefixtures("shop")
def test_the_sales_report_states_since_when_windows_are_known(settings: Connections) -> None:
    report = sales("S", "L", count=1, settings=settings)

    text = report.as_text()
    assert "L|S, as of 2026-03-02 12:00:00, windows known from 2026-03-01 11:00:00" in text
    assert "2026-03-02 11:00:00 to 2026-03-02 12:00:00         6  can still grow" in text
    assert "selling sessions of 7 days: 2" in text
    assert "2 in 1 window\n" in text
    assert text.endswith("6 in 2 windows")
    assert report.as_json()["hops"]["hour"][0]["units"] == 6


def test_an_item_that_never_sold_has_no_window(
    ledger: psycopg.Connection, settings: Connections
) -> None:
    write(ledger, "item_location", clock_mode="replayed")
    ledger.execute("DELETE FROM read_model.sales_window")
    project(ledger, state_of(ledger, "L|S"))

    report = sales("S", "L", settings=settings)

    assert (report.sessions, report.covered_from_us) == ((), None)
    assert "no window is known" in str(report)


@pytest.mark.usefixtures("shop")
def test_the_sales_report_refuses_an_unknown_location(settings: Connections) -> None:
    with pytest.raises(UnknownItem, match="--location 'X': no such location"):
        sales("S", "X", settings=settings)

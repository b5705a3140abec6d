"""The output of the trading command on a database, as text and as JSON."""

import json
import sys
from contextlib import suppress

import psycopg
import pytest
import structlog

from deploy.cli import trading
from deploy.cli.main import main
from ledger import services
from tests.ledger.rows import reorder_proposal


def test_the_summary_is_json_also_when_commands_are_refused(
    retailer: psycopg.Connection,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    services.range_item(location="L", sku="S")  # without a supplier nobody can order it
    reorder_proposal(retailer, supplier=None)
    monkeypatch.setattr(trading, "connect_django", lambda: None)  # the fixture has connected
    options = ("--rate", "5", "--minutes", "0.04", "--patience", "0", "--seed", "2", "--json")
    monkeypatch.setattr(sys, "argv", ["inventory", "simulate", *options])

    with suppress(SystemExit):
        main()
    structlog.reset_defaults()

    told = capsys.readouterr()
    summary = json.loads(told.out)
    assert summary["refused"] >= 1
    assert summary["lines"] + summary["lost_lines"] == summary["planned_lines"]
    assert "simulated_command_refused" in told.err

"""For every item of the demo retailer, the explanation adds up from the rows to the price."""

from pathlib import Path

import psycopg
import pytest
from pydantic import SecretStr

from analytics.explain import explain
from cdc.settings import Connections
from inventory.explain.lines import SUM, gaps
from tests.ledger.folded import state_of_history
from tests.ledger.postgres import Server
from tests.ledger.shown import project, worker_with


@pytest.mark.soak  # test_explained_items has the items of the stack
def test_the_explanation_of_every_demo_item_adds_up(
    server: Server,
    database: str,
    retailer: psycopg.Connection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = SecretStr(server.url("app_ro", database))
    known = Connections(home=tmp_path, read_database_url=url, query_token=SecretStr("token"))
    keys = retailer.execute("SELECT location, sku FROM retail.item_location ORDER BY id").fetchall()

    wrong: dict[str, object] = {}
    for location, sku in keys:
        state = state_of_history(retailer, f"{location}|{sku}")
        project(retailer, state)
        with worker_with(state) as address:
            monkeypatch.setenv("INVENTORY_WORKER_URLS", address)
            found = explain(sku, location, settings=known)
        lines = [line for section in found.sections for line in section.lines]
        unseen = [line.name for line in lines if "not_in_state" in line.name]
        sums = {line.name: line.amount for line in lines if line.part == SUM}
        if gaps(found.sections) or unseen or sums["on_hand_units"] != state.on_hand_units:
            wrong[f"{location}|{sku}"] = (gaps(found.sections), unseen, sums)

    assert len(keys) > 10
    assert wrong == {}

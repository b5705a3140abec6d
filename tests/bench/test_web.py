"""`inventory bench web` on few keys: sizes and counts, never times."""

import json

import pytest
from typer.testing import CliRunner

from bench.web.retailer import retailer
from deploy.cli.main import app
from webui.readmodel.stock_filters import ORDERS

KEYS, STREAMS, CHANGES = 300, 20, 2
NOW_US = 1_772_452_800_000_000


def test_stores_share_all_keys_and_a_seed_gives_the_same_retailer_again() -> None:
    made = retailer(100_000, 7, NOW_US)

    sizes = [store.items for store in made.stores]
    assert sum(sizes) == 100_000
    assert sizes == sorted(sizes)
    # The stock list sorts a store with 10,000 items at most.
    assert 2 * sizes[0] < sizes[-1] <= 10_000
    assert len({store.code for store in made.stores}) == len(sizes)
    assert len({product.code for product in made.products}) == len(made.products) > sizes[-1]
    assert made == retailer(100_000, 7, NOW_US)
    assert made != retailer(100_000, 8, NOW_US)


@pytest.mark.engines
def test_each_page_is_measured_and_each_stream_gets_each_change() -> None:
    line = f"bench web --keys {KEYS} --rounds 1 --streams {STREAMS} --changes {CHANGES} --json"

    done = CliRunner().invoke(app, line.split())

    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    pages = {page["name"]: page for page in report["pages"]}
    assert all(page["nodes"] > 0 and page["wire_bytes"] > 0 for page in pages.values())
    full = ("stock, first page", "stock, deep page", *(f"one store by {name}" for name in ORDERS))
    assert {name: pages[name]["rows"] for name in full} == dict.fromkeys(full, 50)
    assert pages["search, one code"]["rows"] >= 1
    assert pages["search, one letter missing"]["rows"] == 0
    assert report["fanout"]["received"] == STREAMS * CHANGES
    assert report["first_load"]["requests"] > 1
    assert report["table_mb"] > 0 < report["index_mb"]


def test_options_out_of_range_are_refused_before_anything_starts() -> None:
    done = CliRunner().invoke(app, ["bench", "web", "--keys", "99"])

    assert done.exit_code != 0
    assert "--keys" in str(done.exception) + done.output

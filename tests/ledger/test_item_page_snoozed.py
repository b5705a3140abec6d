"""The item's page doesn't call a snoozed need or price open."""

import re
from dataclasses import replace

import psycopg
import pytest

from inventory.model.episode import Episode, PriceEpisode
from inventory.model.ids import ReorderId
from ledger import services
from tests.ledger.folded import state_of
from tests.ledger.pages import person
from tests.ledger.rows import NOON, price_proposal, reorder_proposal, write
from tests.ledger.shown import project

NOON_US = 1_772_452_800_000_000


def text(ledger: psycopg.Connection) -> str:
    page = person("buyer").get("/items/L/S").content.decode()
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


@pytest.fixture(autouse=True)
def shop(ledger: psycopg.Connection) -> None:
    write(ledger, "item_location", clock_mode="replayed", cost_minor=400)
    write(ledger, "stock_count", units=20, occurred_at=NOON)


def test_a_snoozed_need_is_shown_with_its_end_and_who_snoozed_it(
    ledger: psycopg.Connection,
) -> None:
    need = reorder_proposal(ledger)
    services.snooze_reorder(reorder_id=need, shown_revision=1, actor="ann")
    ledger.execute("UPDATE app.reorder_proposal SET status = 'snoozed', quantity_units = NULL")
    episode = Episode(state="held-snoozed", id=ReorderId(need), revision=2, until_us=NOON_US)
    project(ledger, replace(state_of(ledger, "L|S"), episode=episode))

    said = text(ledger)

    assert "Proposal open" not in said
    assert re.search(
        r"Proposal snoozed until the first sale, receipt or other record of the item"
        r" after 2 Mar( 2026)?, 12:00 ?, by ann, to\w+ \d",
        said,
    )


def test_item_page_labels_an_open_need_as_open(ledger: psycopg.Connection) -> None:
    reorder_proposal(ledger)
    project(ledger, state_of(ledger, "L|S"))

    assert "Proposal open: order 42 ." in text(ledger)


def test_a_snoozed_price_is_shown_with_its_end_and_who_snoozed_it(
    ledger: psycopg.Connection,
) -> None:
    proposal = price_proposal(ledger)
    services.snooze_price(proposal_id=proposal, shown_revision=1, actor="pat")
    ledger.execute("UPDATE app.price_proposal SET status = 'snoozed'")
    blocked = PriceEpisode(blocked_until_us=NOON_US)
    project(ledger, replace(state_of(ledger, "L|S"), price_episode=blocked))

    said = text(ledger)

    assert "Proposed: " not in said
    assert re.search(
        r"Proposed price €8.99 snoozed until the first sale, receipt or other record of the item"
        r" after 2 Mar( 2026)?, 12:00 ?, by pat, to\w+ \d",
        said,
    )

"""First figures of new event streams, read with one query for all streams that wait."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection
from django.utils import translation

from ledger.access.scope import EVERYWHERE, within
from webui.live.events import encoded, patches_event
from webui.live.patches import patch_of_row
from webui.readmodel.stock import StockRow, stock_rows


@dataclass(frozen=True, slots=True)
class Page:
    """The keys of an open page and its language. The caller has checked the right to the keys."""

    keys: frozenset[str]
    language: str


def resync_events(pages: Sequence[Page]) -> list[bytes]:
    """Return for each page, in order, an event `resync` with the figures of its keys.

    Pages with the same keys and language share one event. The function closes the database
    connection.

    Raises:
        DatabaseError: the database didn't answer.
    """
    try:
        keys = frozenset[str]().union(*(page.keys for page in pages))
        with within(EVERYWHERE):
            rows = {row.inv_key: row for row in stock_rows(sorted(keys))}
    finally:
        connection.close()
    events = {page: _resync(page, rows) for page in set(pages)}
    return [events[page] for page in pages]


def _resync(page: Page, rows: dict[str, StockRow]) -> bytes:
    with translation.override(page.language or None):
        return patches_event(
            "resync",
            {key: encoded(patch_of_row(rows[key])) for key in sorted(page.keys) if key in rows},
        )

"""One wrong row at a time: in the read model, a changelog, a worker's state, or the proposals.

The bench plants a wrong row, runs `verify`, and then restores the row. Before it restores the row,
`is_there` returns True if the row was wrong the whole time. If a sale would replace the row, the
bench doesn't sell the key of the row during the round.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

import psycopg

from bench.verification.needs import wait_repeated
from bench.verification.rows import (
    LEVEL_COUNTER,
    WINDOW_COUNTER,
    Counter,
    Planted,
    counter,
    proposal,
    undecided_need,
)
from bench.verification.shop import AT_REST, HOT, NEEDED
from bench.verification.states import Target, changelog_level, changelog_window, worker_state

LEVEL: Final = "level"
HOT_LEVEL: Final = "level of a hot key"
WINDOW: Final = "window"
CHANGELOG_LEVEL: Final = "changelog level"
CHANGELOG_WINDOW: Final = "changelog window"
WORKER_STATE: Final = "worker's state"
PROPOSAL: Final = "proposal"
KINDS: Final = (
    *(LEVEL, HOT_LEVEL, WINDOW),
    *(CHANGELOG_LEVEL, CHANGELOG_WINDOW, WORKER_STATE, PROPOSAL),
)


def planted(kind: str, number: int, target: Target) -> AbstractContextManager[Planted]:
    """Return a context that plants and later restores a wrong row; `number` selects the key."""
    resting = AT_REST[number % len(AT_REST)]
    if kind == WORKER_STATE:
        return worker_state(target, resting)
    if kind == CHANGELOG_LEVEL:
        return changelog_level(target, target.shop.key(resting))
    if kind == CHANGELOG_WINDOW:
        return changelog_window(target, target.shop.key(resting))
    if kind == HOT_LEVEL:
        return _hot_level(target, HOT[number % len(HOT)])
    if kind == PROPOSAL:
        return _proposal(target)
    return _row(WINDOW_COUNTER if kind == WINDOW else LEVEL_COUNTER, target, resting)


@contextmanager
def _row(which: Counter, target: Target, sku: str) -> Iterator[Planted]:
    with _writing(target) as connection, counter(connection, which, target.shop.key(sku)) as row:
        yield row


@contextmanager
def _proposal(target: Target) -> Iterator[Planted]:
    with _writing(target) as connection, proposal(connection, _need(target, connection)) as row:
        yield row


def _need(target: Target, connection: psycopg.Connection) -> str:
    """Return the key of an undecided need that a worker has just sent again."""
    keys = [target.shop.key(sku) for sku in NEEDED]
    key = ""
    while key != undecided_need(connection, keys):
        key = undecided_need(connection, keys)
        wait_repeated(target, key)
    return key


def _writing(target: Target) -> psycopg.Connection:
    """Return a connection with the rights of the sinks."""
    url = target.settings.sink_database_url.get_secret_value()
    return psycopg.connect(url, autocommit=True)


@contextmanager
def _hot_level(target: Target, sku: str) -> Iterator[Planted]:
    """Write a wrong level of a hot key. Pause the key's sales, which would replace the row."""
    with target.shop.without_sales(sku):
        target.wait_until_now()
        with _row(LEVEL_COUNTER, target, sku) as row:
            yield row

"""One planted wrong row at a time: in the read model, in a worker's state, among the proposals.

Each kind is planted, left while `verify` runs, and restored. `is_there` checks afterwards whether
the row was still wrong: trade repairs a wrong level of a key with sales.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

import psycopg
from confluent_kafka import Producer

from bench.verification.shop import AT_REST, HOT, NEEDED, Shop
from cdc.contracts.partition import LIBRDKAFKA_PARTITIONER
from cdc.contracts.state import decode_level, encode_level
from cdc.contracts.topics import ON_HAND_CHANGELOG
from cdc.settings import Connections

LEVEL: Final = "level"
HOT_LEVEL: Final = "level of a hot key"
WINDOW: Final = "window"
STATE: Final = "state"
PROPOSAL: Final = "proposal"
KINDS: Final = (LEVEL, HOT_LEVEL, WINDOW, STATE, PROPOSAL)
_FLUSH_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Planted:
    """A planted wrong row; `is_there` returns True while it is still wrong."""

    what: str
    is_there: Callable[[], bool]


@contextmanager
def planted(kind: str, number: int, shop: Shop, settings: Connections) -> Iterator[Planted]:
    """Plant a wrong row of this kind and restore it afterwards; `number` selects the key."""
    url = settings.sink_database_url.get_secret_value()
    resting = shop.key(AT_REST[number % len(AT_REST)])
    with psycopg.connect(url, autocommit=True) as connection:
        if kind == STATE:
            yield from _state(connection, settings, resting)
        elif kind == PROPOSAL:
            yield from _proposal(connection, shop.key(NEEDED))
        elif kind == WINDOW:
            yield from _counter(connection, "sales_window", "sold_units", resting)
        else:
            key = shop.key(HOT[number % len(HOT)]) if kind == HOT_LEVEL else resting
            yield from _counter(connection, "stock", "on_hand_units", key)


def _counter(
    connection: psycopg.Connection, table: str, column: str, key: str
) -> Iterator[Planted]:
    """Make a number of the read model one too large.

    The row's offset doesn't change, so the next row of the key replaces it.
    """
    select = f'SELECT {column}, "offset" FROM read_model.{table} WHERE inv_key = %s'  # noqa: S608 -- our own names
    change = f"UPDATE read_model.{table} SET {column} = {column} + %s WHERE inv_key = %s"  # noqa: S608 -- as above
    back = change + " AND " + column + ' = %s AND "offset" = %s'
    with connection.transaction():
        connection.execute(change, (1, key))
        wrong = connection.execute(select, (key,)).fetchone()
    if wrong is None:
        problem = f"read_model.{table} has no row of {key}"
        raise RuntimeError(problem)
    try:
        yield Planted(key, lambda: connection.execute(select, (key,)).fetchone() == wrong)
    finally:
        connection.execute(back, (-1, key, *wrong))


def _state(connection: psycopg.Connection, settings: Connections, key: str) -> Iterator[Planted]:
    """Write a level of an idle key with one unit more, as the next owner would restore it."""
    row = connection.execute("SELECT state FROM read_model.stock WHERE inv_key = %s", (key,))
    found = row.fetchone()
    if found is None:
        problem = f"read_model.stock has no row of {key}"
        raise RuntimeError(problem)
    level, _dropped = decode_level(json.dumps(found[0]).encode())
    stock = replace(level.stock, on_hand_units=level.stock.on_hand_units + 1)
    _write(settings, key, encode_level(replace(level, stock=stock), ()))
    try:
        yield Planted(key, lambda: True)
    finally:
        _write(settings, key, encode_level(level, tuple(level.windows)))


def _write(settings: Connections, key: str, content: bytes) -> None:
    producer = Producer(
        {"bootstrap.servers": settings.kafka_bootstrap, "partitioner": LIBRDKAFKA_PARTITIONER}
    )
    producer.produce(ON_HAND_CHANGELOG, key=key.encode(), value=content)
    if producer.flush(_FLUSH_S):
        problem = f"{ON_HAND_CHANGELOG}: the broker took no record for {_FLUSH_S:g} s"
        raise TimeoutError(problem)


def _proposal(connection: psycopg.Connection, key: str) -> Iterator[Planted]:
    """Rename the proposal of an open need, so that the need has none."""
    rename = "UPDATE app.reorder_proposal SET reorder_id = %s WHERE reorder_id = %s"
    select = "SELECT reorder_id FROM app.reorder_proposal WHERE inv_key = %s"
    found = connection.execute(select, (key,)).fetchone()
    if found is None:
        problem = f"app.reorder_proposal has no row of {key}"
        raise RuntimeError(problem)
    other = f"{found[0]}0000"
    connection.execute(rename, (other, found[0]))
    try:
        yield Planted(key, lambda: connection.execute(select, (key,)).fetchone() == (other,))
    finally:
        connection.execute(rename, (found[0], other))

"""Wrong states: in a changelog record, and in a worker that restored such a record."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Final

import psycopg
from confluent_kafka import Producer

from analytics import kafka
from analytics.verification import sums
from analytics.verification.barrier import Barrier, NotCaughtUp
from bench.verification.rows import Planted
from bench.verification.shop import PlantFailed, Shop
from cdc.contracts.partition import partition_of
from cdc.contracts.state import decode_level, decode_window, encode_level, encode_window
from cdc.contracts.topics import ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG
from cdc.settings import Connections

_FLUSH_S: Final = 30.0
_READ_S: Final = 120.0
_POLL_S: Final = 0.2
_TRIES: Final = 3
_NOTHING_MOVED: Final[dict[str, object]] = {
    "location": None,
    "excluded_tables": [],
    "excluded_ids": [],
    "kept_tables": [],
    "kept_images": [],
}


@dataclass(frozen=True, slots=True)
class Target:
    """The stack under test: its addresses, the location that trades, and its workers.

    `owner` returns the pid of the worker that serves a partition, None while no worker does.
    """

    settings: Connections
    shop: Shop
    owner: Callable[[int], int | None]
    timeout_s: float

    def wait_until_now(self) -> None:
        """Return once everything committed before this call is applied and shown.

        Raises:
            PlantFailed: the stack has not caught up after `timeout_s` seconds.
        """
        with self.reading() as connection:
            try:
                Barrier(self.settings, connection, self.timeout_s).wait_until_now()
            except NotCaughtUp as problem:
                raise PlantFailed(str(problem)) from problem

    @contextmanager
    def reading(self) -> Iterator[psycopg.Connection]:
        """Connect to Postgres with read-only rights."""
        url = self.settings.read_database_url.get_secret_value()
        with psycopg.connect(url, autocommit=True) as connection:
            yield connection


@contextmanager
def changelog_level(target: Target, key: str) -> Iterator[Planted]:
    """Write a level record with one unit too many; write the right record after the block."""
    _name, right = _newest(target.settings, ON_HAND_CHANGELOG, key, key.encode())
    with _record(
        target.settings, ON_HAND_CHANGELOG, key, (key.encode(), _changed(right, 1))
    ) as there:
        try:
            yield Planted(key, there)
        finally:
            _write(target.settings, ON_HAND_CHANGELOG, key, (key.encode(), right))


@contextmanager
def changelog_window(target: Target, key: str) -> Iterator[Planted]:
    """Write a window record with one sold unit too many; write the right record afterwards."""
    name, right = _newest(target.settings, SALES_WINDOWS_CHANGELOG, key, f"{key}@".encode())
    inv_key, row, position = decode_window(right)
    wrong = encode_window(inv_key, replace(row, sold_units=row.sold_units + 1), position)
    with _record(target.settings, SALES_WINDOWS_CHANGELOG, key, (name, wrong)) as there:
        try:
            yield Planted(key, there)
        finally:
            _write(target.settings, SALES_WINDOWS_CHANGELOG, key, (name, right))


@contextmanager
def worker_state(target: Target, sku: str) -> Iterator[Planted]:
    """Make a worker restore a wrong level, from which the worker continues until the block ends.

    The key is sold within the block. No sale repairs the state, because each sale only subtracts a
    unit from the wrong number.
    """
    _restore(target, sku, units=1, surplus=1)
    try:
        with target.shop.sell_often(sku):
            yield Planted(target.shop.key(sku), lambda: _surplus(target, sku) == 1)
    finally:
        _restore(target, sku, units=-1, surplus=0)


def _restore(target: Target, sku: str, *, units: int, surplus: int) -> None:
    """Make the key's worker restore a level with `units` more on hand; check that it did so.

    Afterwards the read model must have `surplus` units more than the facts. The bench writes the
    record and kills the worker at once. A worker that stops normally writes a snapshot of its
    memory. Then its next start would read only later records.
    """
    key, settings = target.shop.key(sku), target.settings
    for _ in range(_TRIES):
        with target.shop.without_sales(sku):
            target.wait_until_now()
            _name, known = _newest(settings, ON_HAND_CHANGELOG, key, key.encode())
            _write(settings, ON_HAND_CHANGELOG, key, (key.encode(), _changed(known, units)))
            _kill(target, partition_of(key.encode(), settings.partitions))
            target.shop.sell(sku)
        if _surplus(target, sku) == surplus:
            return
    problem = f"{key}: the worker did not restore {units:+d} units in {_TRIES} restarts"
    raise PlantFailed(problem)


def _kill(target: Target, partition: int) -> None:
    deadline = time.monotonic() + target.timeout_s
    while (pid := target.owner(partition)) is None:
        if time.monotonic() > deadline:
            problem = f"no worker served partition {partition} for {target.timeout_s:g} s"
            raise PlantFailed(problem)
        time.sleep(_POLL_S)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _surplus(target: Target, sku: str) -> int:
    """Return the read model's units minus the sum of the facts, while sales of the item pause."""
    key = target.shop.key(sku)
    with target.shop.without_sales(sku), target.reading() as connection:
        target.wait_until_now()
        asked = {**_NOTHING_MOVED, "only": [key]}
        row = connection.execute(sums.LEVELS, asked).fetchone()
    if row is None or row[6] is None:
        problem = f"read_model.stock has no row of {key}"
        raise PlantFailed(problem)
    return int(row[6]) - int(row[1])


def _changed(content: bytes, units: int) -> bytes:
    level, _dropped = decode_level(content)
    stock = replace(level.stock, on_hand_units=level.stock.on_hand_units + units)
    return encode_level(replace(level, stock=stock), tuple(level.windows))


def _newest(settings: Connections, topic: str, key: str, prefix: bytes) -> tuple[bytes, bytes]:
    """Return record key and value of the newest record of the item `key` that has a value.

    Only records whose record key is `prefix` count. If `prefix` ends with `@`, all records whose
    record key begins with `prefix` count: the window rows of the item.
    """
    newest: tuple[bytes, bytes] | None = None
    for message in _after(settings, topic, partition_of(key.encode(), settings.partitions), None):
        is_of_key = message.key() == prefix or prefix.endswith(b"@")
        if message.key().startswith(prefix) and is_of_key and message.value() is not None:
            newest = (message.key(), message.value())
    if newest is None:
        problem = f"{topic} has no record of {key}"
        raise PlantFailed(problem)
    return newest


def _after(settings: Connections, topic: str, partition: int, offset: int | None) -> Iterator[Any]:
    """Yield the records of one partition after `offset` (None: all), up to its present end."""
    ends = kafka.end_offsets(settings.kafka_bootstrap, topic, settings.partitions)
    starts = {} if offset is None else {partition: offset + 1}
    tail = kafka.Tail(settings.kafka_bootstrap, topic, settings.partitions, starts)
    deadline = time.monotonic() + _READ_S
    for message in tail.read_until({partition: ends[partition]}, deadline=deadline):
        if message.error() is None:
            yield message


@contextmanager
def _record(
    settings: Connections, topic: str, key: str, record: tuple[bytes, bytes]
) -> Iterator[Callable[[], bool]]:
    """Write a record; yield a function that returns True while no newer record has its key."""
    offset = _write(settings, topic, key, record)
    partition = partition_of(key.encode(), settings.partitions)

    def is_newest() -> bool:
        later = _after(settings, topic, partition, offset)
        return all(message.key() != record[0] for message in later)

    yield is_newest


def _write(settings: Connections, topic: str, key: str, record: tuple[bytes, bytes]) -> int:
    """Write a record into the key's partition and return its offset."""
    written: list[int] = []
    name, content = record
    producer = Producer({"bootstrap.servers": settings.kafka_bootstrap})
    producer.produce(
        topic,
        key=name,
        value=content,
        partition=partition_of(key.encode(), settings.partitions),
        on_delivery=lambda _error, message: written.append(message.offset()),
    )
    if producer.flush(_FLUSH_S) or not written or written[0] < 0:
        problem = f"{topic}: the broker took no record for {_FLUSH_S:g} s"
        raise PlantFailed(problem)
    return written[0]

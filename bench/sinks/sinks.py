"""The measured sinks: the command of each, its committed position, and its expected contents.

A position is the number of records whose effect is committed. Projector and actuator store it in
Postgres with their rows, the archiver in its manifest. For the feed, it is the number of records
that the feed has given to the hub of the pages. A position only shows that a sink has read
everything, so the bench also compares the contents.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from typing import Any, Final, LiteralString, Protocol

import psycopg
from psycopg import sql

from analytics.archive.checked import checked_rows
from analytics.archive.manifest import Manifest
from analytics.archive.names import FLUSH
from analytics.archive.writer import ROLL_ROWS
from bench.sinks.log import MadeLog, checksum
from cdc.contracts import tables
from cdc.contracts.topics import (
    ON_HAND_CHANGELOG,
    PARTITIONS,
    PRICE_EVENTS,
    REORDER_EVENTS,
    STOCK_EVENTS,
    STOCK_LATE,
    STOCK_REJECTED,
)
from cdc.settings import Connections
from streams.sinks import projector
from webui.live.hub import REMEMBERED_KEYS

_POSITION: LiteralString = """
SELECT coalesce(sum(next_offset), 0)::bigint FROM read_model.sink_position WHERE sink = %s
"""
_FROM_THE_START: LiteralString = """
UPDATE read_model.sink_position SET next_offset = 0 WHERE sink = 'projector'
"""

_FLUSH_EVERY_S: Final = 0.2

Start = Callable[[str, Sequence[str], Path], Popen[bytes]]
Figures = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Place:
    """The services that the sinks use, and the home of their files.

    `start` takes the name of a service, arguments and a file. `start` runs Python with these
    arguments in the environment of the service, and writes the output into the file. With
    `database_url`, the bench connects to Postgres as a superuser.
    """

    bootstrap: str
    database_url: str
    broker_pid: int
    postgres_pid: int
    home: Path
    start: Start


class Position(Protocol):
    """A function that returns the committed position of a sink. The sink reads the log `made`."""

    def __call__(self, made: MadeLog) -> int:
        """Return the number of records whose effect is committed."""
        ...


@dataclass(frozen=True, slots=True)
class Sink:
    """A sink of one measurement.

    `service` names the environment of its process, `arguments` are the arguments of Python.
    `begins` is the log event that precedes the first read. `expected` returns the right figures by
    name, for example the number of late sales. `found` returns the actual figures by the same
    names. The bench calls both after the end of the process.
    """

    name: str
    service: str
    arguments: Sequence[str]
    begins: str
    topics: Sequence[str]
    position: Position
    expected: Callable[[MadeLog], Figures]
    found: Callable[[MadeLog], Figures]
    prepare: Callable[[], object] = lambda: None


def sinks(place: Place, connection: psycopg.Connection) -> tuple[Sink, ...]:
    """Return the sinks in the order of their runs.

    The feed comes after the projector, because it starts at the offsets that the projector stores.
    Before the feed starts, the bench sets these offsets to 0.
    """
    return (
        _archiver(place),
        _projector(connection),
        _actuator(connection),
        _feed(place, connection),
    )


def _archiver(place: Place) -> Sink:
    directory = Connections(home=place.home).archive_dir

    def position(made: MadeLog) -> int:
        """Return the number of archived records.

        Request a flush if too few records are left to fill a file.
        """
        manifest = Manifest(directory)
        left = [
            end - manifest.next_offset(number)
            for (topic, number), end in made.ends.items()
            if topic == STOCK_EVENTS
        ]
        if 0 < max(left) < ROLL_ROWS:
            _request_flush(directory / FLUSH)
        return made.records(STOCK_EVENTS) - sum(left)

    return Sink(
        name="archiver",
        service="archiver",
        arguments=("-m", "analytics.archive"),
        begins="archiver follows",
        topics=(STOCK_EVENTS,),
        position=position,
        expected=lambda made: _by_partition(
            {number: made.ends[STOCK_EVENTS, number] for number in range(PARTITIONS)},
            made.checksums,
        ),
        found=lambda _made: _archived(directory),
    )


def _request_flush(file: Path) -> None:
    """Touch the file, at most every 0.2 s: each request makes the archiver write a small file."""
    if not file.exists() or time.time() - file.stat().st_mtime > _FLUSH_EVERY_S:
        file.touch()


def _archived(directory: Path) -> Figures:
    """Count the records of each partition in the archive's files, and compute their checksum."""
    manifest = Manifest(directory)
    records, checksums = Counter[int](), Counter[int]()
    for file in manifest.all_files():
        for row in checked_rows(manifest.storage, file.source):
            records[file.partition] += 1
            checksums[file.partition] += checksum(row.offset, row.key, row.value)
    return _by_partition(records, checksums)


def _by_partition(records: Mapping[int, int], checksums: Mapping[int, int]) -> Figures:
    return {
        f"{name} of partition {number}": figures.get(number, 0)
        for name, figures in (("records", records), ("checksum", checksums))
        for number in range(PARTITIONS)
    }


def _projector(connection: psycopg.Connection) -> Sink:
    def expected(made: MadeLog) -> Figures:
        return {
            "keys": made.keys,
            "units on hand": made.units,
            "sales windows": len(made.windows),
            "late sales": made.records(STOCK_LATE),
            "rejected records": made.records(STOCK_REJECTED),
        }

    def found(_made: MadeLog) -> Figures:
        return {
            "keys": _number(connection, tables.STOCK),
            "units on hand": _number(connection, tables.STOCK, "sum(on_hand_units)"),
            "sales windows": _number(connection, tables.SALES_WINDOW),
            "late sales": _number(connection, tables.LATE_SALE),
            "rejected records": _number(connection, tables.REJECTED),
        }

    return Sink(
        name="projector",
        service="projector",
        arguments=("-m", "streams.sinks.projector"),
        begins="sink reads",
        topics=projector.TOPICS,
        position=lambda _made: _stored(connection, "projector"),
        expected=expected,
        found=found,
    )


def _actuator(connection: psycopg.Connection) -> Sink:
    return Sink(
        name="actuator",
        service="actuator",
        arguments=("-m", "streams.sinks.actuator"),
        begins="sink reads",
        topics=(REORDER_EVENTS, PRICE_EVENTS),
        position=lambda _made: _stored(connection, "actuator"),
        expected=lambda made: {
            "proposed orders": len(made.reorders),
            "proposed prices": len(made.prices),
        },
        found=lambda _made: {
            "proposed orders": _number(connection, tables.REORDER_PROPOSAL),
            "proposed prices": _number(connection, tables.PRICE_PROPOSAL),
        },
    )


def _feed(place: Place, connection: psycopg.Connection) -> Sink:
    file, levels_file = place.home / "feed-records", place.home / "feed-levels.json"

    def records() -> int:
        return int(file.read_text(encoding="utf-8")) if file.exists() else 0

    def found(made: MadeLog) -> Figures:
        levels = json.loads(levels_file.read_text(encoding="utf-8"))
        right = sum(made.on_hand_units.get(key) == units for key, units in levels.items())
        return {"remembered keys": len(levels), "keys with the units of the log": right}

    def expected(made: MadeLog) -> Figures:
        keys = min(made.keys, REMEMBERED_KEYS)
        return {"remembered keys": keys, "keys with the units of the log": keys}

    return Sink(
        name="feed",
        service="web",
        arguments=("-m", "bench.sinks.feed", str(file), str(levels_file)),
        begins="changelog feed started",
        topics=(ON_HAND_CHANGELOG,),
        position=lambda _made: records(),
        expected=expected,
        found=found,
        # The feed starts at the offsets of the read model. The projector has moved them to the end,
        # so move them back.
        prepare=lambda: connection.execute(_FROM_THE_START),
    )


def _stored(connection: psycopg.Connection, sink: str) -> int:
    return _first(connection.execute(_POSITION, (sink,)).fetchone())


def _number(connection: psycopg.Connection, table: str, of: LiteralString = "count(*)") -> int:
    query = sql.SQL("SELECT coalesce({}, 0)::bigint FROM {}").format(
        sql.SQL(of), sql.Identifier(*table.split("."))
    )
    return _first(connection.execute(query).fetchone())


def _first(row: tuple[Any, ...] | None) -> int:
    return 0 if row is None else int(row[0])

"""Readers of each peer's output, from its own storage."""

import json
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import orjson
import psycopg

from bench.peers.fold import decode_row, split_window_key
from bench.peers.sales import Sums
from bench.peers.topics import latest
from cdc.contracts.state import decode_level, decode_window
from cdc.contracts.topics import ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG

_LONG: Final = struct.Struct(">q")
_WINDOW_TAIL: Final = 12  # Kafka Streams: 8 bytes of start and 4 of sequence after the key
_QUIX_LEVEL: Final = b'|"on_hand"'
_QUIX_TAIL: Final = struct.Struct(">xQxQ")


def of_rows(bootstrap: str, name: str) -> Sums:
    """Return the outputs of this project's programs: changelog values are rows of 16 bytes."""
    levels = latest(bootstrap, f"{name}-on_hand-changelog")
    windows = latest(bootstrap, f"{name}-windows-changelog")
    return Sums(
        {key: decode_row(value)[0] for key, value in levels.items()},
        {split_window_key(key): decode_row(value)[0] for key, value in windows.items()},
    )


def of_worker(bootstrap: str, opening: dict[bytes, int]) -> Sums:
    """Return a worker's outputs: on-hand minus opening count, and net units of each window."""
    levels = (decode_level(v)[0] for v in latest(bootstrap, ON_HAND_CHANGELOG).values())
    rows = (decode_window(v) for v in latest(bootstrap, SALES_WINDOWS_CHANGELOG).values())
    on_hand = {state.inv_key.encode(): state.stock.on_hand_units for state in levels}
    return Sums(
        {
            key: units - opening[key]
            for key, units in on_hand.items()
            if units != opening[key]  # skip keys without a sale
        },
        {
            (key.encode(), row.start_us // 1_000_000): row.sold_units - row.returned_units
            for key, row, _ in rows
        },
    )


def of_faust(bootstrap: str, name: str) -> Sums:
    """Return the outputs of Faust's tables. Keys are JSON; for windows [key, [start, end]]."""
    levels = latest(bootstrap, f"{name}-on_hand-changelog")
    windows = latest(bootstrap, f"{name}-windows-changelog")
    named = ((orjson.loads(key), orjson.loads(value)) for key, value in windows.items())
    return Sums(
        {orjson.loads(key).encode(): orjson.loads(value) for key, value in levels.items()},
        {(key.encode(), int(start)): units for (key, (start, _)), units in named},
    )


def of_streams(bootstrap: str, name: str) -> Sums:
    """Return the outputs of Kafka Streams. The last 8 bytes of a value are the units.

    A window's key is the key of its item, the start in ms (8 bytes) and a sequence number
    (4 bytes).
    """
    levels = latest(bootstrap, f"{name}-on_hand-changelog")
    windows = latest(bootstrap, f"{name}-windows-changelog")
    return Sums(
        {key: _last_long(value) for key, value in levels.items()},
        {
            (key[:-_WINDOW_TAIL], _LONG.unpack(key[-_WINDOW_TAIL:-4])[0] // 1000): _last_long(value)
            for key, value in windows.items()
        },
    )


def _last_long(content: bytes) -> int:
    return int(_LONG.unpack(content[-8:])[0])


def of_bytewax(file: Path) -> Sums:
    """Return the outputs of Bytewax: the file that its program writes at its end."""
    found = json.loads(file.read_text(encoding="utf-8"))
    return Sums(
        {key.encode(): units for key, units in found["on_hand"].items()},
        {(key.encode(), start_s): units for key, start_s, units in found["windows"]},
    )


def of_tables(url: str) -> Sums:
    """Return the outputs of the SQL consumer: its two tables."""
    with psycopg.connect(url) as connection:
        levels: Iterable[tuple[str, int]] = connection.execute("SELECT key, units FROM on_hand")
        windows = connection.execute("SELECT key, start_s, units FROM windows")
        return Sums(
            {key.encode(): units for key, units in levels},
            {(key.encode(), start_s): units for key, start_s, units in windows},
        )


def of_quix(bootstrap: str, name: str, topic: str) -> Sums:
    """Return the outputs of Quix's stores.

    An on-hand key is JSON, a bar and the state's name. A window key is JSON, then start and end in
    eight bytes each, with a separator byte before each. Internal entries, whose names begin with
    two underscores, are left out.
    """
    prefix = f"changelog__{name}--{topic}--"
    levels = latest(bootstrap, f"{prefix}default")
    windows = latest(bootstrap, f"{prefix}windows_tumbling_window_600000")
    return Sums(
        {
            orjson.loads(key.removesuffix(_QUIX_LEVEL)).encode(): orjson.loads(value)
            for key, value in levels.items()
            if key.endswith(_QUIX_LEVEL)
        },
        {
            (
                orjson.loads(key[: -_QUIX_TAIL.size]).encode(),
                _QUIX_TAIL.unpack(key[-_QUIX_TAIL.size :])[0] // 1000,
            ): _quix_units(value)
            for key, value in windows.items()
            if b"|__" not in key
        },
    )


def _quix_units(content: bytes) -> int:
    return int(orjson.loads(content)["value/Sum/units"])

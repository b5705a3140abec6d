"""The input: sale lines drawn from a fixed seed, and their sums, computed without any JSON.

Commit times are spread evenly over one day. Two in a hundred lines are committed one to nine
minutes after their business time. That is within the grace of ten minutes, so every peer must count
them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
K = TypeVar("K")

WINDOW_S: Final = 600
GRACE_S: Final = 600
FIRST_US: Final = 1_795_143_600_000_000  # 2026-11-20T03:00:00Z
DAY_US: Final = 86_400_000_000
ZIPF: Final = 1.05
_LATE: Final = 0.02
_MINUTE_US: Final = 60_000_000
_STORES: Final = 20
_SEED: Final = 7


@dataclass(slots=True)
class Sums:
    """Expected or read outputs: on-hand by key, units by key and window start (s since 1970)."""

    on_hand: dict[bytes, int] = field(default_factory=dict)
    windows: dict[tuple[bytes, int], int] = field(default_factory=dict)

    def differing(self, other: "Sums") -> int:
        """Return the number of keys and windows that are missing, extra or different."""
        return _differing(self.on_hand, other.on_hand) + _differing(self.windows, other.windows)


def _differing(ours: Mapping[K, int], theirs: Mapping[K, int]) -> int:
    return sum(ours.get(key) != theirs.get(key) for key in ours.keys() | theirs.keys())


@dataclass(frozen=True, slots=True)
class Sales:
    """Sale lines, stored as one array per field; `key` has the index of the key in `names`."""

    names: tuple[str, ...]
    key: Integers
    units: Integers
    occurred_us: Integers
    committed_us: Integers

    def records(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield key and value of every line, about 540 bytes each, in commit order."""
        occurred = np.datetime_as_string(self.occurred_us.astype("datetime64[us]"), unit="us")
        committed = np.datetime_as_string(self.committed_us.astype("datetime64[us]"), unit="us")
        for index, number in enumerate(self.key.tolist()):
            name = self.names[number]
            units = int(self.units[index])
            at_us = int(self.committed_us[index])
            yield (
                name.encode(),
                _envelope(index, name, units, occurred[index], committed[index], at_us),
            )

    def first(self, records: int) -> "Sales":
        """Return the first `records` lines."""
        return Sales(
            self.names,
            self.key[:records],
            self.units[:records],
            self.occurred_us[:records],
            self.committed_us[:records],
        )

    def sums(self) -> Sums:
        """Return on-hand and windows of all lines."""
        on_hand = np.zeros(len(self.names), np.int64)
        np.subtract.at(on_hand, self.key, self.units)
        starts = self.occurred_us // (WINDOW_S * 1_000_000)
        places, inverse = np.unique(starts * len(self.names) + self.key, return_inverse=True)
        totals = np.zeros(len(places), np.int64)
        np.add.at(totals, inverse, self.units)
        keys = [name.encode() for name in self.names]
        windows = {
            (keys[place % len(keys)], place // len(keys) * WINDOW_S): total
            for place, total in zip(places.tolist(), totals.tolist(), strict=True)
        }
        sold = np.unique(self.key).tolist()
        return Sums({keys[number]: int(on_hand[number]) for number in sold}, windows)


def draw(records: int, keys: int) -> Sales:
    """Return lines with keys by Zipf's law (exponent 1.05). Equal arguments give equal lines."""
    drawn = np.random.default_rng(_SEED)
    share = 1.0 / np.arange(1, keys + 1) ** ZIPF
    below = np.cumsum(share / share.sum())
    below[-1] = 1.0
    shuffled = drawn.permutation(keys)
    committed = FIRST_US + (np.arange(records) * (DAY_US / records)).astype(np.int64)
    late = np.where(
        drawn.random(records) < _LATE,
        drawn.integers(_MINUTE_US, 9 * _MINUTE_US, records),
        np.zeros(records, np.int64),
    )
    return Sales(
        names=tuple(
            f"STORE-{number % _STORES:02d}|{100_000 + number // _STORES}" for number in range(keys)
        ),
        key=shuffled[np.searchsorted(below, drawn.random(records))].astype(np.int64),
        units=drawn.integers(1, 6, records),
        occurred_us=committed - late,
        committed_us=committed,
    )


def _envelope(
    index: int, name: str, units: int, occurred: str, committed: str, at_us: int
) -> bytes:
    location, _, sku = name.partition("|")
    # This function formats the text itself: encoding a million lines as JSON would take longer
    # than the fastest peer needs for them.
    return (
        f'{{"before":null,"after":{{"id":{index + 1},"inv_key":"{name}","location":"{location}",'
        f'"sku":"{sku}","recorded_at":"{committed}Z","recorded_by":null,"source":"till-1",'
        f'"source_ref":"{index}","quantity_units":{units},"amount_minor":{units * 425},'
        f'"condition":"resaleable","occurred_at":"{occurred}Z"}},'
        f'"source":{{"version":"3.7.0.Final","connector":"postgresql","name":"retail",'
        f'"ts_ms":{at_us // 1000},"snapshot":"false","db":"retail","ts_us":{at_us},'
        f'"schema":"retail","table":"sale_line","txId":{1000 + index // 3},'
        f'"lsn":{26_000_000_000 + index * 176}}},"op":"c","ts_ms":{at_us // 1000 + 7}}}'
    ).encode()

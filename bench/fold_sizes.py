"""Sizes of a key's state in bytes: in memory and as changelog records."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass
from itertools import islice
from typing import Final

from cdc.contracts.state import encode_level, encode_window
from inventory.model.state import KeyState

_SAMPLE: Final = 1_000


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes in bytes of the states of keys, and numbers of their window rows.

    `memory`, `level_record` and `window_record` are averages over a sample of keys. A level record
    (state in the changelog) here contains one window row. `windows` is the average number of window
    rows over all keys. `largest_memory` and `largest_windows` are the bytes in memory and the
    number of window rows of the key with most rows.
    """

    memory: int
    level_record: int
    window_record: int
    windows: float
    largest_memory: int
    largest_windows: int


def sizes(states: Iterable[KeyState]) -> Sizes:
    """Return the average sizes of a sample of keys, and the sizes of the key with most windows."""
    known = list(states)
    sample = list(islice(known, 0, None, max(1, len(known) // _SAMPLE)))
    seen: set[int] = set()
    memory = sum(_deep(state, seen) for state in sample)
    largest = max(known, key=lambda state: len(state.windows))
    levels = [len(encode_level(state, list(state.windows)[-1:])) for state in sample]
    rows = [
        len(encode_window(state.key, state.windows[max(state.windows)], state.position))
        for state in sample
        if state.windows
    ]
    return Sizes(
        memory=memory // len(sample),
        level_record=sum(levels) // len(levels),
        window_record=sum(rows) // max(1, len(rows)),
        windows=sum(len(state.windows) for state in known) / len(known),
        largest_memory=_deep(largest, set()),
        largest_windows=len(largest.windows),
    )


def _deep(found: object, seen: set[int]) -> int:
    """Return the bytes of an object and all objects in it; shared objects count once."""
    if id(found) in seen:
        return 0
    seen.add(id(found))
    below: list[object] = []
    if is_dataclass(found):
        below = [getattr(found, column.name) for column in fields(found)]
    elif isinstance(found, dict):
        below = [*found.keys(), *found.values()]
    elif isinstance(found, tuple):
        below = list(found)
    return sys.getsizeof(found) + sum(_deep(one, seen) for one in below)

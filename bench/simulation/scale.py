"""Limits and times for simulations, so small that a dozen records reach each of them.

A history has about twelve records and no clock. With the engine's own limits, a restore would
always read the whole source, and the fold would never yield within a chunk. With the engine's own
clock, a seed would run differently on a busy and on a quiet machine.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Final

from streams.engine import assembly, cold, loop, restore_reader, rings
from streams.worker import snapshot_writer

BLOCK_BYTES: Final = 256 << 10  # all keys of a history fit into one block
_LOOK_BACK: Final = rings.LOOK_BACK
_FOR_EVER: Final = 1e9  # seconds
_SCALED: Final[tuple[tuple[ModuleType, str, object], ...]] = (
    # One key per block. With more, no event could happen between the encoding of two keys.
    (cold, "BLOCK_BYTES", 1),
    (assembly, "BLOCKS_AT_ONCE", 1),
    (restore_reader, "SLICE", 1),
    (rings, "LOOK_BACK", 1),
    # Yield after each record, and sleep after each block.
    (loop, "CLOCK_EVERY", 1),
    (loop, "SLICE_S", -_FOR_EVER),
    (snapshot_writer, "SLICE_S", -_FOR_EVER),
    (snapshot_writer, "PAUSE_FACTOR", -1),
    (snapshot_writer, "STOP_S", _FOR_EVER),
)


@contextmanager
def scaled() -> Iterator[None]:
    """Set the limits and times of `_SCALED` in the engine until the `with` block ends."""
    former = [getattr(module, name) for module, name, _ in _SCALED]
    for module, name, size in _SCALED:
        setattr(module, name, size)
    try:
        yield
    finally:
        for (module, name, _), size in zip(_SCALED, former, strict=True):
            setattr(module, name, size)


def choose_sizes(*, large: bool) -> None:
    """Set two limits of the engine, each to a large or to the minimal value.

    `cold.BLOCK_BYTES` is the size of a block of compressed states. `rings.LOOK_BACK` is the least
    number of source records that a restore reads again.
    """
    cold.BLOCK_BYTES = BLOCK_BYTES if large else 1
    rings.LOOK_BACK = _LOOK_BACK if large else 1

"""The sizes and clocks of the engine, as small as the histories are.

A history has a dozen records and no time. With the engine's own sizes a restore would read all of
the source, whatever the ring needs, and never give way within a chunk; with its own clocks a seed
would run one way on a busy machine and another way on a quiet one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Final

from streams.engine import assembly, cold, heard, loop, rings
from streams.worker import keeper

BLOCK_BYTES: Final = 256 << 10  # all keys of a history in one block, as far as these go
_LOOK_BACK: Final = rings.LOOK_BACK
_FOR_EVER: Final = 1e9  # seconds
_SCALED: Final[tuple[tuple[ModuleType, str, object], ...]] = (
    # A key in a block of its own, or nothing could happen while some are laid to rest.
    (cold, "BLOCK_BYTES", 1),
    (assembly, "BLOCKS_AT_ONCE", 1),
    (heard, "SLICE", 1),
    (rings, "LOOK_BACK", 1),
    # Others get a turn behind each record, and sleep behind each block.
    (loop, "LOOK_EVERY", 1),
    (loop, "SLICE_S", -_FOR_EVER),
    (keeper, "SLICE_S", -_FOR_EVER),
    (keeper, "PAUSES", -1),
    (keeper, "STOP_S", _FOR_EVER),
)


@contextmanager
def scaled() -> Iterator[None]:
    """Let the engine have these sizes meanwhile."""
    former = [getattr(module, name) for module, name, _ in _SCALED]
    for module, name, size in _SCALED:
        setattr(module, name, size)
    try:
        yield
    finally:
        for (module, name, _), size in zip(_SCALED, former, strict=True):
            setattr(module, name, size)


def choose_sizes(*, large: bool) -> None:
    """Let keys share blocks and a restore read more than the ring, or neither."""
    cold.BLOCK_BYTES = BLOCK_BYTES if large else 1
    rings.LOOK_BACK = _LOOK_BACK if large else 1

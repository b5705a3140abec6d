"""Result files of a task, read in pieces."""

import tracemalloc
from pathlib import Path

from analytics.engines.results import STATES, ResultFile, read_unlisted

ROWS = 10_000
STATE_BYTES = 1_000


def test_rows_are_read_a_few_at_a_time(tmp_path: Path) -> None:
    """A merge reads all units of a partition at once, so it must hold only a few rows of each."""
    file = ResultFile(tmp_path, STATES)
    for number in range(ROWS):
        file.write(f"K{number:05}".encode(), number, number.to_bytes(4, "big") * (STATE_BYTES // 4))
    file.close()

    tracemalloc.start()
    try:
        read = sum(1 for _ in read_unlisted(tmp_path, STATES))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert read == ROWS
    assert peak < ROWS * STATE_BYTES / 3

"""Homes with a finished run, and the rows of their tables."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from analytics.history.opened import History
from tests.analytics.histories import generate
from tests.analytics.two_runs import Home, a_home

SMALL = generate(seed=11, records=150)


def a_small_home(directory: Path) -> Home:
    """Return a home with one run over corrections, deletions, re-sent and damaged records."""
    found = a_home(directory / "home", SMALL)
    found.run()
    return found


def rows(history: History, name: str) -> list[dict[str, Any]]:
    return [row for path in history.files[name] for row in pq.ParquetFile(path).read().to_pylist()]

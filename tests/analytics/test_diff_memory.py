"""The comparison holds one batch of each file and the open needs, however long the log is."""

import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from analytics.backfill.diff.compared_runs import ComparedRun, ComparedRuns, compared_runs
from analytics.backfill.diff.stream import pairs_of
from analytics.backfill.run import runs_dir
from analytics.engines import results
from analytics.engines.results import OUTPUTS, ResultFile
from analytics.engines.unit import ManifestRow
from cdc.contracts.decisions import ReorderEvent, encode_reorder
from tests.analytics.test_diff_pairing import need
from tests.analytics.two_runs import a_history, a_home

KEYS = 20


def written(row: ManifestRow, directory: Path, needs: int) -> ManifestRow:
    """Write needs that open and close in turn, over `KEYS` keys. Return the row of their file."""
    directory.mkdir(parents=True)
    file = ResultFile(directory, OUTPUTS)
    for number in range(needs):
        key = f"L0|S{number % KEYS}".encode()
        for offset, status in ((2 * number, "open"), (2 * number + 1, "cancelled")):
            event = need(offset, 2 * number, status=status).event
            assert isinstance(event, ReorderEvent)
            file.write(key, offset, encode_reorder(event))
    file.close()
    return replace(row, directory=str(directory), files={OUTPUTS: file.written()})


def peak_bytes(runs: ComparedRuns, directory: Path, needs: int) -> int:
    """Return the peak of Python's memory, in bytes, while `needs` pairs are read."""
    row = runs.a.rows[0]
    a, b = (written(row, directory / side, needs) for side in "ab")
    long = ComparedRuns(
        ComparedRun(runs.a.plan, runs.a.directory, (a,)),
        ComparedRun(runs.b.plan, runs.b.directory, (b,)),
    )
    tracemalloc.start()
    try:
        assert sum(1 for _ in pairs_of(long, row.partition)) == needs
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_pairing_four_times_as_many_needs_takes_no_more_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "_READ_ROWS", 50)  # rows of a batch, fewer than a file has
    home = a_home(tmp_path / "home", a_history(steps=30))
    name = home.run()
    runs = compared_runs(runs_dir(home.settings), name, name)

    short = peak_bytes(runs, tmp_path / "short", 300)
    long = peak_bytes(runs, tmp_path / "long", 1_200)

    assert long < short * 5 // 4

"""Random histories: whatever happens to the workers, one pass over the log is what comes out."""

import os

from bench.simulate import run

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
SEEDS = int(os.environ.get("INVENTORY_SIMULATION_SEEDS", "10000" if LONG else "1000"))


def test_no_history_breaks_a_promise() -> None:
    report = run(start=0, seeds=SEEDS, workers=1, tell=lambda _: None)

    assert report.seeds == SEEDS
    assert report.failed == 0, report.as_text()

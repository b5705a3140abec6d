"""Random histories: with any faults of workers, the results equal one pass over the log."""

import os

from bench.simulate import run

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
SEEDS = int(os.environ.get("INVENTORY_SIMULATION_SEEDS", "10000" if LONG else "1000"))


def test_random_histories_with_faults_violate_no_invariant() -> None:
    report = run(start=0, seeds=SEEDS, workers=1, progress=lambda _: None)

    assert report.seeds == SEEDS
    assert report.failed == 0, report.as_text()

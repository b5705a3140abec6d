"""The product's fold and the reference model give the same lines for the same history."""

import os

import pytest

from tests.oracle.compare import failing, report

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
SEEDS = int(os.environ.get("INVENTORY_ORACLE_SEEDS", "300" if LONG else "60"))
BATCH = 10


@pytest.mark.domain("11.1 Steps", "11.2 Refused change", "11.4 Approved")
@pytest.mark.parametrize("first", range(0, SEEDS, BATCH))
def test_the_fold_agrees_with_the_reference_model(first: int) -> None:
    for seed, records in failing(range(first, min(first + BATCH, SEEDS))):
        pytest.fail(report(seed, records))

"""A run whose processes are killed at random moments, by each engine."""

from pathlib import Path

import pytest

from bench.backfill.archive import Size
from tests.analytics.kills import KEYS, RECORDS, VICTIMS, a_case, rounds, undisturbed

pytestmark = [pytest.mark.soak, pytest.mark.engines]

MOMENTS = {"local": 20, "spark": 20, "cluster": 8}


@pytest.mark.parametrize("engine", sorted(VICTIMS))
def test_a_run_killed_at_random_moments_gives_the_digest_of_an_undisturbed_one(
    engine: str, tmp_path: Path
) -> None:
    with a_case(tmp_path, engine, Size(RECORDS, KEYS, seed=1)) as case:
        known = undisturbed(case)
        made = list(rounds(case, known, seed=1, moments=MOMENTS[engine]))

    assert [one.text(known.units) for one in made if one.problems] == []
    assert {one.role for one in made} == set(VICTIMS[engine])

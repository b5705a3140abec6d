"""A run whose processes are killed at random moments, by each engine."""

from pathlib import Path

import pytest

from bench.backfill.archive import Size
from tests.analytics.kills import KEYS, VICTIMS, a_case, rounds, undisturbed

pytestmark = [pytest.mark.soak, pytest.mark.engines]

RECORDS = 20_000
MOMENTS = {"local": 8, "spark": 8, "cluster": 4}  # the command has 20 by default


@pytest.mark.parametrize("engine", sorted(VICTIMS))
def test_a_run_killed_at_random_moments_gives_the_digest_of_an_undisturbed_one(
    engine: str, tmp_path: Path
) -> None:
    with a_case(tmp_path, engine, Size(RECORDS, KEYS, seed=1)) as case:
        known = undisturbed(case)
        made = list(rounds(case, known, seed=1, moments=MOMENTS[engine]))

    assert "".join(one.text(known.units) for one in made if one.problems) == ""
    assert len({one.role for one in made}) > 1

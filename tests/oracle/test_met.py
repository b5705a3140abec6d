"""Generated histories meet the edges that docs/domain.md rules on."""

from collections import Counter

from tests.oracle.met import EDGES, met_by

# Seeds that together meet every edge. One of the histories has a thousand counts on a day.
SEEDS = (144, 679)


def test_generated_histories_cover_every_edge_case() -> None:
    met: Counter[str] = Counter()
    for seed in SEEDS:
        met.update(met_by(seed))

    assert set(met) == set(EDGES)

"""Every planted defect is found, or the simulator is too weak."""

import pytest

from tests.simulation.defects import PROJECT, Finding, hunt, patches, plant
from tests.simulation.test_histories import LONG

PATCHES = patches()
# Facts and faults of the shortest history; most take half as many.
LONGEST = 13


def test_there_are_enough_planted_defects() -> None:
    assert len(PATCHES) >= 25


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_a_planted_defect_applies_to_the_sources_as_they_are(patch) -> None:
    plant(patch, PROJECT, "--check")


@pytest.mark.parametrize("patch", PATCHES if LONG else PATCHES[::11], ids=lambda patch: patch.stem)
def test_a_planted_defect_is_found_with_a_short_history(patch) -> None:
    found: Finding = hunt(patch)

    assert found.seed is not None, found.promise
    assert len(found.history) <= LONGEST, found.history

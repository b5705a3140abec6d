"""The simulator finds every planted defect."""

import pytest

from tests.simulation.defects import PROJECT, Finding, hunt, patches, plant

PATCHES = patches()
HUNTED = [
    patch if number % 11 == 0 else pytest.param(patch, marks=pytest.mark.soak)
    for number, patch in enumerate(PATCHES)
]
# Facts and faults of the shortest history; most take half as many.
LONGEST = 13


def test_there_are_enough_planted_defects() -> None:
    assert len(PATCHES) >= 25


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_a_planted_defect_applies_to_the_sources_as_they_are(patch) -> None:
    plant(patch, PROJECT, "--check")


@pytest.mark.parametrize("patch", HUNTED, ids=lambda patch: patch.stem)
def test_a_planted_defect_is_found_with_a_short_history(patch) -> None:
    found: Finding = hunt(patch)

    assert found.seed is not None, found.promise
    assert len(found.history) <= LONGEST, found.history

"""Changed results need a new logic revision, and each revision documents its change."""

import pytest

from analytics.backfill.change.examples import digest, digests
from inventory.revision import CHANGES, LOGIC_REVISION

CHANGED = (
    f"the rules give other results than logic revision {LOGIC_REVISION} did. If"
    " the change is meant, raise LOGIC_REVISION in inventory/revision.py, state the change in"
    " CHANGES there, and run `python -m tests.golden.results`"
)


@pytest.mark.generated
def test_changed_results_are_a_new_revision() -> None:
    assert digests().get(LOGIC_REVISION) == digest(), CHANGED


def test_every_revision_states_its_change_and_has_results_of_its_own() -> None:
    revisions = list(range(1, LOGIC_REVISION + 1))

    assert [*CHANGES] == [*digests()] == revisions
    assert all(CHANGES.values())
    assert len({*digests().values()}) == len(revisions)

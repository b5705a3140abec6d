"""Each page of docs/how-to, performed on a copy of the sources with its tests."""

from pathlib import Path

import pytest

from tests.howto.steps import copy_project, perform
from tests.howto.test_steps import PAGES

pytestmark = pytest.mark.engines

# Pages that another test performs: tests/stack/test_existing_postgres.py, on real services.
ELSEWHERE = {"connect-an-existing-postgres.md"}


# Pages that take long. The other pages have the same kinds of steps and take less time.
LONG = {
    *("add-a-captured-table.md", "add-a-page.md", "add-a-replenishment-family.md"),
    *("add-a-topic-field.md", "change-a-record-incompatibly.md"),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(page, marks=pytest.mark.soak if page in LONG else ())
        for page in PAGES
        if page not in ELSEWHERE
    ],
)
def test_the_steps_of_a_page_lead_to_passing_tests(tmp_path: Path, name: str) -> None:
    perform(name, copy_project(tmp_path / "copy"))

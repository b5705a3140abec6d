"""Some queries and constants exist in one module only, because two copies could differ."""

import re

import pytest

from tests.house.sources import PACKAGES, name, python_files

OWNERS = {
    # The query of the newest row. `analytics.backfill.deciding_revision` reads all rows.
    r"FROM app\.revision_switch ORDER BY id DESC": "cdc/deciding.py",
    r"\.log\.1\"": "deploy/stack/rotation.py",
    r"\(3, 11\), \(3, 13\)": "deploy/artifacts/install.py",
}


@pytest.mark.parametrize("pattern", OWNERS)
def test_a_query_or_constant_exists_only_in_its_owning_module(pattern: str) -> None:
    found = [
        name(path)
        for path in python_files(*PACKAGES)
        if re.search(pattern, path.read_text(encoding="utf-8"))
    ]

    assert found == [OWNERS[pattern]]

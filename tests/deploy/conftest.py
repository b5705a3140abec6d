"""Fixture: an empty home, the directory of a local stack."""

from pathlib import Path

import pytest

from deploy.stack.home import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    found = Home(tmp_path / "home")
    found.create()
    return found

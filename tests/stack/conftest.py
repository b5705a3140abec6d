"""Fixture: one complete stack per test process. Each test uses its own locations and items."""

import os
from collections.abc import Iterator
from unittest import mock

import pytest

from tests.stack.running import RunningStack, run_inventory, start


@pytest.fixture(scope="package")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStack]:
    """Run every service of the project on this machine until the last test ends."""
    home = tmp_path_factory.mktemp("stack") / "home"
    try:
        running = start(home)
        # Django and the analytics code read the environment when they are imported.
        with mock.patch.dict(os.environ, running.environment):
            yield running
    finally:
        run_inventory("down", home=home)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder as one that needs services."""
    for item in items:
        if "tests/stack" in str(item.path):
            item.add_marker(pytest.mark.stack)

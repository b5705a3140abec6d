"""How thoroughly generated cases are tried: `quick` in `make check`, `long` in `make test`."""

import os

import pytest
from hypothesis import settings

# No deadline: on a busy machine it would report the neighbours and not the code.
settings.register_profile("quick", max_examples=50, deadline=None, print_blob=True)
settings.register_profile("long", max_examples=500, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Services last and the browser at the very end, whose driver keeps an event loop running."""
    items.sort(key=lambda item: ("tests/stack" in str(item.path)) + ("browser" in str(item.path)))

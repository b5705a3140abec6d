"""Functions that the walkthrough names exist."""

import re
from functools import reduce
from importlib import import_module
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "walkthrough.md"
NAMES = re.findall(r"`([a-z_.]+):([A-Za-z_.]+)`", PAGE.read_text(encoding="utf-8"))


def test_the_walkthrough_names_functions_of_every_package() -> None:
    modules = {module.split(".")[0] for module, _ in NAMES}

    assert modules == {"inventory", "cdc", "ledger", "streams", "webui", "analytics"}


@pytest.mark.parametrize(("module", "name"), NAMES, ids=str)
def test_every_function_of_the_walkthrough_exists(module: str, name: str) -> None:
    found = reduce(getattr, name.split("."), import_module(module))

    assert callable(found)

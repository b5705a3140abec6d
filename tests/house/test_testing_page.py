"""docs/testing.md names tests that exist."""

import re

from deploy.stack.home import PROJECT
from tests.house.test_delivery_page import _TEST, functions_of

PAGE = (PROJECT / "docs" / "testing.md").read_text(encoding="utf-8")
COMMAND = re.compile(r"python -m (tests\.[\w.]+)")


def test_every_test_on_the_testing_page_exists() -> None:
    named = _TEST.findall(PAGE)

    assert len(named) > 30
    assert [f"{path}::{name}" for path, name in named if name not in functions_of(path)] == []


def test_every_module_on_the_testing_page_exists() -> None:
    named = {module.replace(".", "/") for module in COMMAND.findall(PAGE)}

    assert named
    assert [name for name in named if not (PROJECT / f"{name}.py").is_file()] == []

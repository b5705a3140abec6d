"""docs/delivery.md: crash points are numbered, and each names existing tests."""

import ast
import re

from deploy.stack.home import PROJECT
from streams.exit_codes import ExitCode

_ROW = re.compile(r"^\| (\d+) \|.*$", re.MULTILINE)
_CODE = re.compile(r"^\| `(\d+)` \| \S", re.MULTILINE)
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def points() -> list[tuple[int, str]]:
    page = (PROJECT / "docs/delivery.md").read_text(encoding="utf-8")
    return [(int(row[1]), row[0]) for row in _ROW.finditer(page)]


def functions_of(path: str) -> set[str]:
    tree = ast.parse((PROJECT / path).read_text(encoding="utf-8"))
    return {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}


def test_crash_points_are_numbered_without_a_hole() -> None:
    numbers = [number for number, _ in points()]

    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) >= 16


def test_every_crash_point_names_a_test_that_exists() -> None:
    missing = {
        number: [f"{path}::{name}" for path, name in named if name not in functions_of(path)]
        for number, named in ((number, _TEST.findall(row)) for number, row in points())
        if not named or any(name not in functions_of(path) for path, name in named)
    }

    assert missing == {}


def test_the_delivery_page_explains_every_exit_code_of_a_worker() -> None:
    page = (PROJECT / "docs/delivery.md").read_text(encoding="utf-8")

    assert sorted(map(int, _CODE.findall(page))) == sorted(ExitCode)

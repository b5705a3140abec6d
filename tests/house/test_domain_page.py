"""Every row and ruling of docs/domain.md has a test, and every mark names an existing row."""

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from tests.house.domain_page import row_names, tracker_numbers
from tests.house.sources import functions, name, parsed, python_files


def _is_domain_mark(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).endswith("pytest.mark.domain")


def marks() -> Iterator[tuple[str, Path]]:
    """Yield (pattern, file) for every `@pytest.mark.domain` in the tests."""
    for path in python_files("tests"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Call) and _is_domain_mark(node):
                for pattern in node.args:
                    yield ast.literal_eval(pattern), path


def test_every_row_of_the_domain_page_has_a_test() -> None:
    patterns = sorted({pattern for pattern, _ in marks()})

    unheld = [
        row for row in row_names() if not any(fnmatchcase(row, pattern) for pattern in patterns)
    ]

    assert unheld == []


def test_every_domain_mark_of_a_test_names_an_existing_row() -> None:
    rows = row_names()

    stale = [
        f"{name(path)}: {pattern}"
        for pattern, path in marks()
        if not any(fnmatchcase(row, pattern) for row in rows)
    ]

    assert stale == []


def test_every_tracker_number_is_in_the_name_of_a_test() -> None:
    tests = [
        function.name
        for path in python_files("tests")
        for function in functions(parsed(path))
        if function.name.startswith("test_")
    ]

    unnamed = [
        number
        for number in tracker_numbers()
        if not any(re.search(rf"_{number}(?!\d)", test) for test in tests)
    ]

    assert unnamed == []

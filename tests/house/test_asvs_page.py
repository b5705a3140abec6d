"""docs/security/asvs.md: each requirement has a row, and each claim names an existing test."""

import ast
import re
from collections import Counter
from functools import cache

import pytest

from deploy.stack.home import PROJECT

PAGE = (PROJECT / "docs" / "security" / "asvs.md").read_text(encoding="utf-8")
# Sections and numbers of the requirements of levels 1 and 2 in ASVS 5.0.0.
REQUIRED = """
    1.1:1-2 1.2:1-9 1.3:1-11 1.4:1-3 1.5:1-2 2.1:1-3 2.2:1-3 2.3:1-4 2.4:1 3.2:1-2 3.3:1-4
    3.4:1-6 3.5:1-5 3.7:1-2 4.1:1-3 4.2:1 4.3:1-2 4.4:1-4 5.1:1 5.2:1-3 5.3:1-2 5.4:1-3
    6.1:1-3 6.2:1-12 6.3:1-4 6.4:1-4 6.5:1-5 6.6:1-3 6.8:1-4 7.1:1-3 7.2:1-4 7.3:1-2 7.4:1-5
    7.5:1-2 7.6:1-2 8.1:1-2 8.2:1-3 8.3:1 8.4:1 9.1:1-3 9.2:1-4 10.1:1-2 10.2:1-2 10.3:1-4
    10.4:1-11 10.5:1-5 10.6:1-2 10.7:1-3 11.1:1-2 11.2:1-3 11.3:1-3 11.4:1-4 11.5:1 11.6:1
    12.1:1-3 12.2:1-2 12.3:1-4 13.1:1 13.2:1-5 13.3:1-2 13.4:1-5 14.1:1-2 14.2:1-4 14.3:1-3
    15.1:1-3 15.2:1-3 15.3:1-7 16.1:1 16.2:1-5 16.3:1-4 16.4:1-3 16.5:1-3 17.1:1 17.2:1-4
    17.3:1-2
"""
VERDICTS = {"met", "partly", "open", "operator", "n/a"}
Number = tuple[int, ...]


def numbers() -> list[Number]:
    found = []
    for part in REQUIRED.split():
        section, _, spans = part.partition(":")
        for span in spans.split(","):
            first, _, last = span.partition("-")
            found += [
                (*map(int, section.split(".")), number)
                for number in range(int(first), int(last or first) + 1)
            ]
    return found


NUMBERS = numbers()


def row(line: str) -> tuple[str, str, str, str]:
    ids, verdict, how, test = (cell.strip() for cell in line.strip().strip("|").split("|"))
    return ids, verdict, how, test


ROWS = [row(line) for line in PAGE.splitlines() if re.match(r"\| \d+\.\d+\.\d+", line)]


def covered(ids: str) -> list[Number]:
    """Return the requirements of `1.2.6 to 1.2.8, 1.3.1`; ranges skip absent numbers."""
    found = []
    for span in ids.split(", "):
        first, _, last = span.partition(" to ")
        ends = [tuple(map(int, end.split("."))) for end in (first, last or first)]
        assert all(end in NUMBERS for end in ends), span
        found += [number for number in NUMBERS if ends[0] <= number <= ends[1]]
    return found


@cache
def names_in(file: str) -> frozenset[str]:
    tree = ast.parse((PROJECT / "tests" / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def test_each_requirement_of_levels_1_and_2_has_one_row() -> None:
    assert len(NUMBERS) == 253

    rows = Counter(number for ids, *_ in ROWS for number in covered(ids))

    assert rows == Counter(NUMBERS)


@pytest.mark.parametrize("line", ROWS, ids=lambda line: line[0])
def test_each_claim_names_tests_that_exist(line: tuple[str, str, str, str]) -> None:
    ids, verdict, how, test = line
    named = [reference.partition("::") for reference in re.findall(r"`([^`]+)`", test)]

    assert verdict in VERDICTS
    assert how
    assert named or verdict in {"open", "operator"}, f"{ids}: a claim without a test"
    for file, _, name in named:
        assert name in names_in(file), f"{ids}: {file} has no {name}"

"""Every suppressed finding has a reason and names its rule."""

import io
import re
import tokenize

import pytest

from tests.house.sources import PACKAGES, name, python_files

MARK = re.compile(r"#\s*(noqa|type:\s*ignore|pragma:\s*no cover)")
EXPLAINED = re.compile(
    r"#\s*(noqa: [A-Z]+[0-9]+(, ?[A-Z]+[0-9]+)*|type: ignore\[[a-z-]+(, ?[a-z-]+)*\]"
    r"|pragma: no cover) -- \S.{3,}"
)


def comments(text: str) -> list[tuple[int, str]]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [(t.start[0], t.string) for t in tokens if t.type == tokenize.COMMENT]


def unexplained(text: str) -> list[tuple[int, str]]:
    if not MARK.search(text):  # skip most files, because tokenizing all takes seconds
        return []
    found = [(line, comment) for line, comment in comments(text) if MARK.search(comment)]
    return [(line, comment) for line, comment in found if not EXPLAINED.search(comment)]


def test_every_suppression_carries_its_reason() -> None:
    found = [
        f"{name(path)}:{line} {comment}"
        for path in python_files(*PACKAGES, "tests")
        for line, comment in unexplained(path.read_text(encoding="utf-8"))
    ]

    assert found == []


@pytest.mark.parametrize("planted", ["noqa", "noqa: S101", "type: ignore", "pragma: no cover"])
def test_a_bare_suppression_would_be_found(planted: str) -> None:
    assert unexplained(f"x = 1  # {planted}\n")

"""Every noun that a page counts is one of `NOUNS`, with its plural."""

import re
from pathlib import Path

from webui.translation.nouns import NOUNS

PAGES = Path(__file__).parents[2] / "webui"
IN_TEMPLATES = re.compile(r'\|counted:"([^"]+)"')
IN_PYTHON = re.compile(r"counted_text\([^\n]*?, ['\"]([^'\"]+)['\"]\)")


def test_each_counted_noun_has_its_plural() -> None:
    found = {
        noun
        for pattern, written in (("*.html", IN_TEMPLATES), ("*.py", IN_PYTHON))
        for path in PAGES.rglob(pattern)
        for noun in written.findall(path.read_text("utf-8"))
    }

    assert len(found) > 20
    assert found - NOUNS.keys() == set()

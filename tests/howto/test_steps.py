"""Read edits and commands from pages and perform them on copies. A page that doesn't fit fails."""

from pathlib import Path

import pytest

from tests.howto import steps
from tests.howto.steps import Edit, StepFailed, apply, commands, copy_edited, edits, perform_edits

PAGES = sorted(page.name for page in steps.PAGES.glob("*.md") if page.name != "README.md")
SOURCE = "class A:\n    one = 1\n    two = 2\n\nclass B:\n    one = 1\n"


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of a page, in a folder that replaces docs/how-to."""
    monkeypatch.setattr(steps, "PAGES", tmp_path)
    return tmp_path / "page.md"


def test_edits_and_commands_are_read_in_their_order(page: Path) -> None:
    page.write_text(
        "New file `a.sh`:\n```sh\necho\n```\n\n"
        "In `b.py`, below `class B`, after `one`:\n```python\n"
        "three = 3\n```\nText.\n```sh\n# comment\nfirst \\\n  --option  # why\nsecond\n```\n"
    )

    assert edits(page.name) == [
        Edit("a.sh", "new", "echo\n"),
        Edit("b.py", "after", "three = 3\n", "one", "class B"),
    ]
    assert commands(page.name) == ["first    --option", "second"]


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (Edit("s.py", "after", "x = 0\n", "two = 2"), "    two = 2\n    x = 0\n"),
        (Edit("s.py", "before", "x = 0\n", "two = 2"), "    x = 0\n    two = 2\n"),
        (Edit("s.py", "instead of", "x = 0\n", "two = 2"), "    one = 1\n    x = 0\n\n"),
        (Edit("s.py", "after", "x = 0\n", "one", "class B"), "    one = 1\n    x = 0\n"),
        (Edit("s.py", "end", "x = 0\n"), "    one = 1\nx = 0\n"),
        (Edit("new/s.py", "new", "x = 0\n"), "x = 0\n"),
    ],
)
def test_an_edit_gets_the_indentation_of_its_line(
    tmp_path: Path, edit: Edit, expected: str
) -> None:
    (tmp_path / "s.py").write_text(SOURCE)

    apply(tmp_path, edit)

    assert expected in (tmp_path / edit.path).read_text()


@pytest.mark.parametrize(
    "edit",
    [
        Edit("s.py", "after", "x = 0\n", "one = 1"),
        Edit("s.py", "after", "x = 0\n", "four = 4"),
        Edit("s.py", "after", "x = 0\n", "two = 2", "class B"),
        Edit("s.py", "new", "x = 0\n"),
    ],
)
def test_an_edit_without_its_line_fails(tmp_path: Path, edit: Edit) -> None:
    (tmp_path / "s.py").write_text(SOURCE)

    with pytest.raises(StepFailed, match=r"s\.py"):
        apply(tmp_path, edit)


@pytest.mark.parametrize("name", PAGES)
def test_the_edits_of_a_page_fit_the_sources(tmp_path: Path, name: str) -> None:
    copy = copy_edited(name, tmp_path / "copy")

    perform_edits(name, copy)

    assert edits(name)

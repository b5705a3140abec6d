"""Pages of docs/reference agree with the code that they describe."""

import pytest

from deploy.reference import FOLDER, pages

PAGES = pages()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_generated_page_is_what_the_code_gives(path) -> None:
    assert path.read_text(encoding="utf-8") == PAGES[path], "run `make docs`"


def test_every_command_has_a_section() -> None:
    text = PAGES[FOLDER / "cli.md"]
    linked = [line.partition("](#")[2].partition(")")[0] for line in text.splitlines()]
    sections = [line[3:].replace(" ", "-") for line in text.splitlines() if line.startswith("## ")]

    assert [anchor for anchor in linked if anchor] == sections
    assert "inventory-workers-restart" in sections

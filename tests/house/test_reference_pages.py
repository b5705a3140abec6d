"""Pages of docs/reference agree with the code that they describe."""

import pytest

from deploy.reference import FOLDER, NAMES, page_of


@pytest.mark.parametrize("name", NAMES)
def test_a_generated_reference_page_is_up_to_date(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == page_of(name), "run `make docs`"


def test_every_command_has_a_section() -> None:
    text = page_of("cli.md")
    linked = [line.partition("](#")[2].partition(")")[0] for line in text.splitlines()]
    sections = [line[3:].replace(" ", "-") for line in text.splitlines() if line.startswith("## ")]

    assert [anchor for anchor in linked if anchor] == sections
    assert "inventory-workers-restart" in sections

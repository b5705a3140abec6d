"""Pages show codes as words, and texts of people unchanged."""

import pytest

from webui.shell.templatetags.texts import words


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("cover_over_guard", "cover over guard"),
        ("held-rejected", "held-rejected"),
        ("need.opened", "need.opened"),
        ("see order PO_17 of ACME_EU", "see order PO_17 of ACME_EU"),
        ("PO_17", "PO_17"),
        ("", ""),
        (None, ""),
    ],
)
def test_words_replaces_underscores_only_in_codes(text: str | None, shown: str) -> None:
    assert words(text) == shown

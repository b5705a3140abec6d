"""Tables outside a terminal are as wide as their content."""

import pytest

from deploy import output


def test_a_table_in_a_file_is_not_folded(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    columns = [f"column {number}" for number in range(20)]

    output.table("title", columns, [["value"] * len(columns)])

    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "title"
    assert len(printed) == 3
    assert printed[1].split("  ")[-1].strip() == "column 19"

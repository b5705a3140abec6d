"""Tables outside a terminal are as wide as their content; every character can be printed."""

import json
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

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


def test_a_message_is_printed_as_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line break would split a command to paste, and rich would take `[/red]` for its markup.

    Rich would also print an emoji instead of `:x:`, which may be part of an SKU.
    """
    monkeypatch.setenv("COLUMNS", "80")
    message = f"{'inventory generation --yes && ' * 9}got '[/red]' and [bold]9[/bold] of M8:x:20"

    output.console.print(message)
    output.errors.print(message)
    output.table(":100: rows", ["found"], [["[/red]"], ["M8:x:20"]])

    printed = capsys.readouterr()
    assert printed.out.splitlines()[0] == message
    assert printed.err.splitlines() == [message]
    shown = [line.strip() for line in printed.out.splitlines()[1:]]
    assert shown == [":100: rows", "found", "[/red]", "M8:x:20"]


def test_json_has_null_for_a_number_that_json_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    output.as_json([{"ratio": float("inf"), "units": (3, float("nan"))}, {"ratio": 0.5}])

    assert "NaN" not in (printed := capsys.readouterr().out)
    assert json.loads(printed) == [{"ratio": None, "units": [3, None]}, {"ratio": 0.5}]


@pytest.mark.parametrize(
    ("name", "encoding", "printed"),
    [
        ("home", "ascii", rb"down \xb7 "),
        ("h\udce9", "utf-8:strict", rb"/h\udce9"),
        ("h\udce9", "utf-8:surrogateescape", b"/h\xe9"),
    ],
)
def test_a_character_that_the_terminal_lacks_is_printed_as_its_escape(
    name: str, encoding: str, printed: bytes, tmp_path: Path
) -> None:
    chosen = {"INVENTORY_HOME": str(tmp_path / name), "PYTHONIOENCODING": encoding}

    done = subprocess.run(
        [sys.executable, "-m", "deploy.cli.main", "status"],
        env=os.environ | chosen,
        capture_output=True,
        check=False,
    )

    assert (done.returncode, b"Traceback" in done.stderr) == (1, False)
    assert printed in done.stdout


@pytest.mark.parametrize("stream", [None, StringIO()])
def test_a_stream_without_an_encoding_needs_no_escapes(
    stream: StringIO | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python sets `sys.stdout` to None if a command is started with `>&-`."""
    monkeypatch.setattr(sys, "stdout", stream)

    output.escape_unencodable()

"""An unreadable sales file is reported in one line, before any service starts for it."""

import os
import sys
from pathlib import Path

import pytest

from deploy.cli.main import main

EXPECTED = ": expected a file in the UCI Online Retail format\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "directory").mkdir()
    (tmp_path / "empty.csv").touch()
    os.mkfifo(tmp_path / "pipe")
    # A file that everyone, even the superuser, can open but not read.
    (tmp_path / "broken.csv").symlink_to("/proc/self/mem")
    return tmp_path


@pytest.mark.parametrize("command", ["import-sales", "bench fold"])
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("missing.csv", "does not exist"),
        ("directory", "is a directory"),
        ("empty.csv", "is empty"),
        ("pipe", "is no plain file"),
        ("broken.csv", "can't be read, Input/output error"),
    ],
)
def test_an_unreadable_sales_file_is_reported_in_one_line(
    command: str,
    name: str,
    problem: str,
    files: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("INVENTORY_HOME", str(files / "home"))
    monkeypatch.setattr(sys, "argv", ["inventory", *command.split(), str(files / name)])

    with pytest.raises(SystemExit) as ended:
        main()

    told = capsys.readouterr()
    assert (ended.value.code, told.out) == (1, "")
    assert told.err == f"error: FILE {str(files / name)!r} {problem}{EXPECTED}"

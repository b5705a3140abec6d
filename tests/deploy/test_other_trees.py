"""Commands that run the code of another tree: choice of their interpreter."""

import os
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deploy.cli import option_checks
from deploy.cli.main import app
from deploy.stack.home import PROJECT


def test_a_relative_interpreter_is_that_of_this_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tmp_path / "tree"
    (tree / "deploy" / "cli").mkdir(parents=True)
    (tree / "deploy" / "cli" / "backfill.py").touch()
    (tree / "analytics" / "archive").mkdir(parents=True)
    (tree / "analytics" / "archive" / "names.py").touch()
    here = tmp_path / "here"
    (here / "bin").mkdir(parents=True)
    python = here / "bin" / "python"
    python.write_text('#!/bin/sh\necho "$@" > "$OUT"\nexit 7\n')
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    monkeypatch.chdir(here)
    monkeypatch.setenv("OUT", str(tmp_path / "out"))
    monkeypatch.setattr("deploy.cli.backfill.load_environment", dict)

    done = CliRunner().invoke(
        app, ["backfill", "publish", "R", "--code", str(tree), "--python", "bin/python"]
    )

    assert done.exit_code == 7, done.exception
    assert (tmp_path / "out").read_text() == "-m deploy.cli.main backfill publish -- R\n"


def test_a_tree_that_does_not_know_the_archives_names_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would take the archive for an empty one, and delete its files."""
    (tmp_path / "deploy" / "cli").mkdir(parents=True)
    (tmp_path / "deploy" / "cli" / "backfill.py").touch()
    monkeypatch.setattr("deploy.cli.backfill.load_environment", dict)

    done = CliRunner().invoke(app, ["backfill", "publish", "R", "--code", str(tmp_path)])

    assert done.exit_code == 1
    assert "a source tree of an earlier release, which can't read this archive" in str(
        done.exception
    )


def test_a_name_is_looked_up_and_a_link_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "python").symlink_to(PROJECT)
    monkeypatch.chdir(tmp_path)

    assert option_checks.interpreter("python3.12") == "python3.12"
    assert option_checks.interpreter(f".{os.sep}python") == str(tmp_path / "python")

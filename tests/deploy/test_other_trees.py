"""Commands that run the code of another tree: choice of their interpreter."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deploy.cli import option_checks
from deploy.cli.main import app
from deploy.stack.home import PROJECT
from deploy.stack.processes import alive, end, identify, wait_until


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


def test_a_command_in_another_tree_ends_when_its_parent_is_terminated(tmp_path: Path) -> None:
    """The prover ends a request with SIGTERM. A child left behind would compute on for hours."""
    (tmp_path / "deploy" / "cli").mkdir(parents=True)
    for package in ("deploy", "deploy/cli"):
        (tmp_path / package / "__init__.py").touch()
    (tmp_path / "deploy" / "cli" / "main.py").write_text(
        "import pathlib, os, time\n"
        "pathlib.Path('new').write_text(str(os.getpid()))\n"
        "pathlib.Path('new').rename('pid')\n"
        "time.sleep(60)\n"
    )
    pid = tmp_path / "pid"
    text = (
        "import sys; from pathlib import Path; from deploy.cli.backfill import _in_tree\n"
        "_in_tree(Path(sys.argv[1]), '', 'run', [], json=False)"
    )

    words = [sys.executable, "-c", text, str(tmp_path)]
    with subprocess.Popen(words, cwd=PROJECT) as command:  # noqa: S603 -- this Python
        assert wait_until(pid.exists, timeout_s=60.0)
        child = identify(int(pid.read_text()))
        command.terminate()
        command.wait(30.0)
    try:
        assert wait_until(lambda: not alive(child), timeout_s=10.0)
    finally:
        end([child], signal.SIGKILL)


def test_a_tree_that_cannot_read_this_archive_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old code doesn't find the archive's manifest. It would delete the archive's files."""
    (tmp_path / "deploy" / "cli").mkdir(parents=True)
    (tmp_path / "deploy" / "cli" / "backfill.py").touch()
    monkeypatch.setattr("deploy.cli.backfill.load_environment", dict)

    done = CliRunner().invoke(app, ["backfill", "publish", "R", "--code", str(tmp_path)])

    assert done.exit_code == 1
    assert "this source tree is of an earlier release, which can't read this archive" in str(
        done.exception
    )


def test_an_interpreter_name_is_unchanged_and_a_symlink_is_not_resolved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "python").symlink_to(PROJECT)
    monkeypatch.chdir(tmp_path)

    assert option_checks.interpreter("python3.12") == "python3.12"
    assert option_checks.interpreter(f".{os.sep}python") == str(tmp_path / "python")

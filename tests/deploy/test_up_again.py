"""`inventory up` while a stack runs already."""

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deploy.cli.main import app
from deploy.stack import class_data, daemon, service_commands
from deploy.stack.home import Home
from deploy.stack.processes import identify
from deploy.stack.runtime import Runtime, write_runtime


@pytest.mark.parametrize("how", [["--detach"], []], ids=["background", "foreground"])
def test_up_with_another_worker_count_scales_the_running_stack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: list[str]
) -> None:
    home = Home(tmp_path / "home")
    home.create()
    me = identify(os.getpid())
    running = Runtime(phase="ready", supervisor_pid=me.pid, supervisor_ticks=me.started)
    write_runtime(home, running)
    monkeypatch.setenv("INVENTORY_HOME", str(home.path))
    monkeypatch.setattr(class_data, "ensure", lambda _progress: None)
    monkeypatch.setattr(daemon, "start_detached", lambda *_: running)
    monkeypatch.setattr(daemon, "wait_down", lambda _: None)
    scaled: list[int] = []
    monkeypatch.setattr(service_commands, "scale", lambda _, count: scaled.append(count))

    done = CliRunner().invoke(app, ["up", *how, "--workers", "3"])

    assert done.exit_code == 0, done.output
    assert scaled == [3]

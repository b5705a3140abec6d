"""`inventory up` without `--detach`: the stack lives as long as the command."""

import os
import signal
import subprocess
from pathlib import Path

from deploy.stack.home import PROJECT, Home
from deploy.stack.processes import wait_until
from deploy.stack.runtime import read_runtime
from tests.stack.running import DEADLINE_S, INVENTORY, run_inventory


def test_sigterm_to_a_foreground_up_command_stops_the_stack(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    # Another test's stack may have left its addresses in the environment.
    foreign = {name: text for name, text in os.environ.items() if "INVENTORY_" not in name}
    environment = foreign | {"INVENTORY_HOME": str(home.path), "INVENTORY_WEB_PORT": "0"}
    environment["INVENTORY_JVM_COMPILERS"] = "first"  # starts faster; a test is short
    command = subprocess.Popen(  # noqa: S603 -- our own command
        [str(INVENTORY), "up", "--only", "postgres"],
        cwd=PROJECT,
        env=environment,
        stdout=subprocess.DEVNULL,
    )
    try:
        assert wait_until(lambda: read_runtime(home).phase == "ready", timeout_s=DEADLINE_S)
        children = read_runtime(home).children()
        assert children

        command.send_signal(signal.SIGTERM)

        assert command.wait(timeout=DEADLINE_S) == 0
        assert not read_runtime(home).running
        assert not any(Path(f"/proc/{child.pid}").exists() for child in children)
    finally:
        command.kill()
        run_inventory("down", home=home.path)

"""Run the repair commands that `inventory doctor` prints, exactly as printed."""

import os
import re
import subprocess
from typing import Final

from tests.stack.running import COMMAND_S, INVENTORY, RunningStack

# Rows of the doctor about the test machine. Tests don't cause these failures.
_MACHINE: Final = ("mvn", "chromium-headless-shell", "memory", "disk")


def commands_of(printed: str) -> list[str]:
    """Return the repairs that `inventory doctor` has printed, except those of the test machine."""
    found = re.finditer(r"^repair ([^:]+): (.+)$", printed, re.MULTILINE)
    return [
        line[2]
        for line in found
        if not {name.strip() for name in line[1].split(",")} <= {*_MACHINE}
    ]


def run_as_printed(own: RunningStack, repair: str) -> subprocess.CompletedProcess[str]:
    """Run a repair in a shell, exactly as it is printed. Return its result."""
    mine = {name: value for name, value in os.environ.items() if not name.startswith("INVENTORY_")}
    mine |= {"INVENTORY_HOME": str(own.home.path), "INVENTORY_WEB_PORT": "0"}
    mine["INVENTORY_JVM_COMPILERS"] = "first"  # starts faster; a test is short
    mine |= {"PATH": f"{INVENTORY.parent}{os.pathsep}{mine['PATH']}"}
    return subprocess.run(  # noqa: S602 -- the line that a person would paste
        repair, shell=True, env=mine, capture_output=True, text=True, timeout=COMMAND_S, check=False
    )

"""The steps of the setup container can be repeated on a running stack."""

import os
import subprocess
import sys

from deploy.container import setup
from deploy.stack.home import PROJECT
from tests.stack.running import COMMAND_S, RunningStack


def test_the_setup_container_can_run_again_on_a_running_stack(
    stack: RunningStack,
) -> None:
    secrets = stack.home.secrets()
    place = {"POSTGRES_HOST": "127.0.0.1", "POSTGRES_PORT": str(stack.runtime.ports["postgres"])}
    passwords = {name: secrets[role] for role, name in setup._PASSWORDS.items()}
    passwords["POSTGRES_PASSWORD"] = secrets["postgres"]

    done = subprocess.run(
        [sys.executable, "-m", "deploy.container.setup"],
        cwd=PROJECT,
        env={**os.environ, **stack.environment, **place, **passwords},
        capture_output=True,
        text=True,
        timeout=COMMAND_S,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "database, topics and connector are ready\n")
    stack.wait_until(
        lambda: '"task": "RUNNING"' in stack.cli("status", "--json").stdout,
        describe=lambda: stack.cli("status").stdout,
    )

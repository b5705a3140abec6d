"""A running stack, with its commands, addresses and waits, for tests."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import SecretStr

from cdc.settings import Connections
from deploy.stack.home import PROJECT, Home
from deploy.stack.runtime import Runtime, environment_of, read_runtime

T = TypeVar("T")
# Only a failing test waits so long. A busy machine may need many times as long as an idle one.
DEADLINE_S = 300.0
COMMAND_S = 900.0
INVENTORY = Path(sys.executable).with_name("inventory")


@dataclass(frozen=True, slots=True)
class RunningStack:
    """Stack of this test session: its home, its variables and its command."""

    home: Home
    environment: Mapping[str, str]

    @property
    def runtime(self) -> Runtime:
        """Return services with pids, ports and restarts, as the supervisor wrote them last."""
        return read_runtime(self.home)

    @property
    def settings(self) -> Connections:
        """Return the addresses and secrets of Kafka, Connect, Postgres and the workers' queries."""
        value = self.environment
        return Connections(
            home=self.home.path,
            kafka_bootstrap=value["INVENTORY_KAFKA_BOOTSTRAP"],
            connect_url=value["INVENTORY_CONNECT_URL"],
            database_url=SecretStr(value["INVENTORY_DATABASE_URL"]),
            owner_database_url=SecretStr(value["INVENTORY_OWNER_DATABASE_URL"]),
            sink_database_url=SecretStr(value["INVENTORY_SINK_DATABASE_URL"]),
            read_database_url=SecretStr(value["INVENTORY_READ_DATABASE_URL"]),
            query_token=SecretStr(value["INVENTORY_QUERY_TOKEN"]),
        )

    def cli(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `inventory` on this stack. Return the result; the test checks its exit code."""
        return run_inventory(*arguments, home=self.home.path)

    def wait_until(
        self,
        condition: Callable[[], T],
        describe: Callable[[], object] = lambda: "",
    ) -> T:
        """Poll `condition` until it is true; return its value. Fail after `DEADLINE_S` seconds."""
        end = time.monotonic() + DEADLINE_S
        while True:
            seen = condition()
            if seen:
                return seen
            if time.monotonic() > end:
                message = f"not true after {DEADLINE_S:.0f} s; last seen {seen!r} {describe()}"
                raise AssertionError(message)
            time.sleep(0.1)


def run_inventory(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run the installed command on `home`, with any free port for the pages. Return its result."""
    mine = {key: value for key, value in os.environ.items() if not key.startswith("INVENTORY_")}
    mine |= {"INVENTORY_HOME": str(home), "INVENTORY_WEB_PORT": "0", "COLUMNS": "160"}
    mine["INVENTORY_JVM_COMPILERS"] = "first"  # starts faster; a test is short
    # Tests log in by password alone. tests/ledger/test_logins.py tests the second factor.
    mine["INVENTORY_SECOND_FACTOR_ROLES"] = ""
    if "INVENTORY_CACHE" in os.environ:
        mine["INVENTORY_CACHE"] = os.environ["INVENTORY_CACHE"]
    return subprocess.run(  # noqa: S603 -- our own command
        [str(INVENTORY), *arguments],
        cwd=PROJECT,
        env=mine,
        capture_output=True,
        text=True,
        timeout=COMMAND_S,
        check=False,
    )


def start(home: Path, *arguments: str) -> RunningStack:
    """Start and return a stack in `home`. A failure shows the command's output."""
    result = run_inventory("up", "--detach", *arguments, home=home)
    assert result.returncode == 0, result.stdout + result.stderr
    return RunningStack(Home(home), environment_of(Home(home)))

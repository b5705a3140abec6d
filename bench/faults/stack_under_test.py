"""Access to one stack that faults may destroy: commands, processes, clients of its services.

The bench checks the stack as an operator would. `inventory status --json`, `doctor --json` and
`verify --json` run as commands. A repair that a command prints runs unchanged in a shell.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import psycopg
from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from bench.faults.commands import FinishedCommand, run_command

_POLL_S: Final = 0.2
_BIN: Final = Path(sys.executable).parent


class ConditionTimeout(Exception):
    """A condition was not true in time; the message has the last value of the condition."""


@dataclass(frozen=True, slots=True)
class StackUnderTest:
    """A running stack in `home`, used only by the faults."""

    home: Path

    def inventory(self, *arguments: str) -> FinishedCommand:
        """Run one `inventory` command of this stack."""
        return self._run([str(_BIN / "inventory"), *arguments])

    def shell(self, line: str) -> FinishedCommand:
        """Run a repair in a shell, exactly as `doctor` or another command printed it."""
        return self._run(["bash", "-c", line])

    def _run(self, command: list[str]) -> FinishedCommand:
        own = {key: value for key, value in os.environ.items() if not key.startswith("INVENTORY_")}
        own |= {"INVENTORY_HOME": str(self.home), "INVENTORY_WEB_PORT": "0", "COLUMNS": "240"}
        own |= {"PATH": f"{_BIN}:{os.environ.get('PATH', '')}"}
        if "INVENTORY_CACHE" in os.environ:
            own["INVENTORY_CACHE"] = os.environ["INVENTORY_CACHE"]
        return run_command(command, own)

    def status(self) -> dict[str, Any]:
        """Return the document of `status --json`, with its exit code as `exit_code`."""
        done = self.inventory("status", "--json")
        document = done.document()
        return {**(document if isinstance(document, dict) else {}), "exit_code": done.code}

    def doctor(self) -> list[dict[str, str]]:
        """Return the rows of `doctor --json` whose verdict is not ok."""
        rows = self.inventory("doctor", "--json").document()
        if not isinstance(rows, list):
            return [{"name": "doctor", "verdict": "failure", "found": "no JSON", "repair": ""}]
        return [row for row in rows if row["verdict"] != "ok"]

    def entry(self, service: str) -> dict[str, Any]:
        """Return the service's entry in `runtime.json`; {} if it has none."""
        runtime = json.loads((self.home / "runtime.json").read_text(encoding="utf-8"))
        return dict(runtime["services"].get(service) or {})

    def pid(self, service: str) -> int:
        """Return the pid of the service's process; wait while it has none."""
        return int(wait_for(lambda: self.entry(service).get("pid"), f"a process of {service}"))

    @property
    def supervisor(self) -> int:
        """Pid of the supervisor, from `runtime.json`."""
        runtime = json.loads((self.home / "runtime.json").read_text(encoding="utf-8"))
        return int(runtime["supervisor_pid"])

    @property
    def variables(self) -> Mapping[str, str]:
        """Addresses and secrets from the stack's environment file."""
        text = (self.home / "environment.json").read_text(encoding="utf-8")
        return {str(name): str(value) for name, value in json.loads(text).items()}

    def sql(self, statement: str, *values: object, role: str = "postgres") -> list[tuple[Any, ...]]:
        """Run a statement as the superuser, or as `role`; return its rows."""
        secrets = json.loads((self.home / "secrets.json").read_text(encoding="utf-8"))
        port = self.ports["postgres"]
        with psycopg.connect(
            host="127.0.0.1",
            port=port,
            user=role,
            password=secrets[role],
            dbname="retail",
            autocommit=True,
            connect_timeout=5,
        ) as connection:
            done = connection.execute(statement.encode(), values)
            return done.fetchall() if done.description else []

    @property
    def ports(self) -> Mapping[str, int]:
        """Ports of the services by name."""
        runtime = json.loads((self.home / "runtime.json").read_text(encoding="utf-8"))
        return {str(name): int(port) for name, port in runtime["ports"].items()}

    def topic_id(self, name: str) -> str | None:
        """Return the broker's id of the topic, or None if the broker doesn't return one."""
        try:
            admin = self.admin  # keep the client: without it, the future fails
            found = admin.describe_topics(TopicCollection([name]), request_timeout=5)
            return str(found[name].result().topic_id)
        except KafkaException:
            return None

    def connect(self, method: str, path: str, **options: Any) -> httpx.Response:  # noqa: ANN401 -- httpx's
        """Send a request to Connect's REST interface with its credentials."""
        from cdc.capture.client import ACCOUNT  # noqa: PLC0415 -- beside its only use

        variables = self.variables
        return httpx.request(
            method,
            f"{variables['INVENTORY_CONNECT_URL']}{path}",
            auth=(ACCOUNT, variables["INVENTORY_CONNECT_PASSWORD"]),
            timeout=30,
            trust_env=False,
            **options,
        )

    @property
    def admin(self) -> AdminClient:
        """A new client that may change topics and groups."""
        address = self.variables["INVENTORY_KAFKA_BOOTSTRAP"]
        return AdminClient({"bootstrap.servers": address, "log_level": 3})


def wait_for(
    condition: Callable[[], Any],
    what: str,
    timeout_s: float = 120.0,
) -> Any:  # noqa: ANN401 -- what the condition gives
    """Call `condition` every 0.2 s, and return its first true result.

    `what` describes this result in the error.

    Raises:
        ConditionTimeout: no result was true within `timeout_s` seconds.
    """
    deadline = time.monotonic() + timeout_s
    while not (seen := condition()):
        if time.monotonic() > deadline:
            problem = f"{what}: not reached within {timeout_s:.0f} s; last seen {seen!r}"
            raise ConditionTimeout(problem)
        time.sleep(_POLL_S)
    return seen


def state_of(pid: int) -> str:
    """Return the state letter of a process: R, S, T (stopped), Z or others; "" if it has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return text.rpartition(")")[2].split()[0]


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process that may have ended by itself."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)

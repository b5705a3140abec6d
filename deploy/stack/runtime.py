"""The supervisor's report about the stack: from its socket, or else from `runtime.json`.

The file alone may be old, because a full disk prevents its update.
"""

import json
import os
import shlex
import time
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from deploy.errors import StackError
from deploy.stack import report
from deploy.stack.home import Home, default_home, write_json
from deploy.stack.processes import ProcessId, alive

UP: Final = "inventory up --detach"  # repair in errors about a stack that does not run
_ENVIRONMENT: Final = "environment.json"
ADDRESS: Final = "INVENTORY_KAFKA_BOOTSTRAP"
# URL with the rights of the tables' owner. `load_environment` doesn't give it to commands.
_OWNER: Final = "INVENTORY_OWNER_DATABASE_URL"


@dataclass(slots=True)
class ServiceRuntime:
    """One service as the supervisor sees it.

    The counts are 0 when the stack starts. `restarts` counts restarts after crashes and restarts as
    repairs. `asked_restarts` counts those that a command requested. `repairs` counts the repairs of
    a suspended or silent process. `last_repair` is the last repair step and its reason, or the
    error of a later start that failed.

    `ends_in_a_row` counts crashes in a row. It begins again at 1 if a ready process was killed from
    outside, or if the process ran for more than a minute. `lived_s` is the run time, in seconds, of
    the last process that crashed or was killed from outside.
    """

    state: str = "stopped"
    pid: int | None = None
    started_ticks: int = 0
    port: int | None = None
    url: str | None = None
    restarts: int = 0
    ends_in_a_row: int = 0
    asked_restarts: int = 0
    started_at: float | None = None
    lived_s: float = 120.0
    last_exit: int | None = None
    log: str = ""
    repairs: int = 0
    last_repair: str = ""


@dataclass(slots=True)
class Runtime:
    """The stack as the supervisor sees it. `phase` is starting, ready, stopping, failed or down.

    `written_at` is the time of the last successful write of `runtime.json`, in seconds since 1970
    UTC. `write_error` is the error of a later write that failed.
    """

    phase: str = "down"
    supervisor_pid: int = 0
    supervisor_ticks: int = 0
    error: str = ""
    repair: str = ""
    steps: list[dict[str, Any]] = field(default_factory=list)
    services: dict[str, ServiceRuntime] = field(default_factory=dict)
    ports: dict[str, int] = field(default_factory=dict)
    written_at: float = 0.0
    write_error: str = ""

    @property
    def supervisor(self) -> ProcessId:
        """Return the supervisor's identity."""
        return ProcessId(self.supervisor_pid, self.supervisor_ticks)

    @property
    def running(self) -> bool:
        """Return True if the supervisor in this record is alive."""
        return bool(self.supervisor_pid) and alive(self.supervisor)

    def children(self) -> tuple[ProcessId, ...]:
        """Return the identities of the services' processes, even if the supervisor has ended."""
        return tuple(
            ProcessId(service.pid, service.started_ticks)
            for service in self.services.values()
            if service.pid
        )


def read_runtime(home: Home) -> Runtime:
    """Return the live report of the supervisor, or else the content of its file.

    Without a file, return a runtime in the phase `down`.

    Raises:
        StackError: the file is damaged, or another release has written it.
    """
    filed = _read_file(home)
    if not filed.running:
        return filed
    said = report.query(home, filed.supervisor)
    return filed if said is None else _parsed(said)


def _read_file(home: Home) -> Runtime:
    file = home.runtime_file
    try:
        return _parsed(json.loads(file.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return Runtime()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"{file}: expected what this release of `inventory up` writes, found {error!r}"
        repair = f"rm {shlex.quote(str(file))}  # once none of its processes runs"
        raise StackError(message, repair=repair) from error


def _parsed(raw: dict[str, Any]) -> Runtime:
    for former in ("connector_restarts", "env"):  # fields that earlier releases wrote
        raw.pop(former, None)
    services = {name: ServiceRuntime(**entry) for name, entry in raw.pop("services").items()}
    return Runtime(**raw, services=services)


def write_runtime(home: Home, runtime: Runtime) -> None:
    """Replace the file `runtime.json` atomically, and set `written_at`.

    Raises:
        OSError: the write failed. Then `written_at` keeps the time of the last success.
    """
    now = time.time()
    write_json(home.runtime_file, asdict(runtime) | {"written_at": now, "write_error": ""})
    runtime.written_at, runtime.write_error = now, ""


def write_environment(home: Home, variables: dict[str, str]) -> None:
    """Store the variables for later commands, with secrets. Only the owner can read the file."""
    write_json(home.path / _ENVIRONMENT, variables)


def read_environment(home: Home) -> dict[str, str]:
    """Return the variables of the last start of the stack, with secrets.

    Raises:
        OSError: there is no file.
        ValueError: the file has no JSON.
        AttributeError: the file has JSON that is no object.
    """
    found = json.loads((home.path / _ENVIRONMENT).read_text(encoding="utf-8"))
    return {str(name): str(value) for name, value in found.items()}


def environment_of(home: Home) -> dict[str, str]:
    """Return every `INVENTORY_*` variable of the running stack, with secrets.

    Raises:
        StackError: no stack runs in this home, or it has not written its variables yet.
    """
    runtime = read_runtime(home)
    if not runtime.running:
        message = f"no stack runs in {home.path}"
        raise StackError(message, repair=UP)
    try:
        return read_environment(home)
    except (OSError, ValueError, AttributeError) as error:
        file = home.path / _ENVIRONMENT
        message = f"{file}: expected the variables of a stack, found {error!r}; nothing was done"
        # Only a start writes the file. If the stack is starting, `inventory up` waits for it.
        repair = UP if runtime.phase == "starting" else f"inventory down && {UP}"
        raise StackError(message, repair=repair) from error


def load_environment(home: Home | None = None) -> dict[str, str]:
    """Copy the running stack's variables into `os.environ`, and return them.

    Call this before the import of modules that read them. The database URL of the tables' owner is
    left out. If no stack runs here but the variables are set, as in a container, they stay
    unchanged.

    Raises:
        StackError: no stack runs in this home, and the variables are not set.
    """
    chosen = home or Home(default_home())
    if ADDRESS in os.environ and not read_runtime(chosen).running:
        os.environ.setdefault("INVENTORY_GENERATION", str(chosen.generation))
        return {name: value for name, value in os.environ.items() if name.startswith("INVENTORY_")}
    found = {name: text for name, text in environment_of(chosen).items() if name != _OWNER}
    os.environ.update(found)
    return found

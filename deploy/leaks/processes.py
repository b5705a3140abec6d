"""Environments and arguments of a stack's processes, and the secrets that each may contain."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deploy.stack.home import Home
from deploy.stack.runtime import read_runtime
from deploy.stack.service_variables import service_variables

# Map from a variable that contains a secret to the secret's name in `secrets.json`. The variables
# have no prefix `INVENTORY_` here.
_OF_VARIABLES: Final = {
    "QUERY_TOKEN": "query_token",
    "SECRET_KEY": "secret_key",
    "CONNECT_PASSWORD": "connect",
    "OWNER_DATABASE_URL": "retail_owner",
    "SINK_DATABASE_URL": "sink_rw",
    "READ_DATABASE_URL": "app_ro",
}
_PROC: Final = Path("/proc")


@dataclass(frozen=True, slots=True)
class Content:
    """Bytes from one source, and the names of the secrets that they may contain.

    `place` describes the source, for example `cmdline of web, pid 4711`.
    """

    place: str
    content: bytes
    allowed: frozenset[str] = frozenset()


def allowed_in(service: str) -> frozenset[str]:
    """Return the names of the secrets that the environment of the service may contain."""
    if service == "connect":
        return frozenset({"cdc"})
    needs = service_variables(service)
    names = {_OF_VARIABLES[name] for name in needs.names if name in _OF_VARIABLES}
    return frozenset(names | ({needs.role} if needs.role else set()))


def processes(home: Home) -> Iterator[Content]:
    """Yield the environment and the arguments of each process of the stack, as two `Content`.

    The processes are the supervisor, the services and all their children.
    """
    children = _children()
    # Read the runtime after the scan of processes. In the other order, a service that starts in
    # between would count as a child of the supervisor, and a secret in it as a leak.
    runtime = read_runtime(home)
    roots = {service.pid: name for name, service in runtime.services.items() if service.pid}
    if runtime.running:
        roots[runtime.supervisor_pid] = "supervisor"
    for pid, name in _descendants(roots, children).items():
        for kind, allowed in (("environ", allowed_in(name)), ("cmdline", frozenset[str]())):
            try:
                content = (_PROC / str(pid) / kind).read_bytes()
            except OSError:
                continue  # it has ended meanwhile, or belongs to another account
            yield Content(f"{kind} of {name}, pid {pid}", content, allowed)


def _children() -> dict[int, list[int]]:
    """Return a map from pid to the pids of its children, for all processes of this machine."""
    children: dict[int, list[int]] = {}
    for status in _PROC.glob("[0-9]*/stat"):
        try:
            fields = status.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(status.parent.name))
    return children


def _descendants(roots: dict[int, str], children: dict[int, list[int]]) -> dict[int, str]:
    """Return a map from pid to name, for the roots and all their descendants.

    A descendant gets the name of its nearest ancestor in `roots`.
    """
    found: dict[int, str] = {}
    waiting = list(roots.items())
    while waiting:
        pid, name = waiting.pop()
        found[pid] = name
        waiting += [(child, name) for child in children.get(pid, ()) if child not in roots]
    return found

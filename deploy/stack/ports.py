"""Ports of a home: chosen once and stored. A port is replaced only if another program uses it."""

import json
import random
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from deploy.errors import StackError
from deploy.stack.home import write_json

LAST_PORT: Final = 65_535
# Range of the ports. It is below the range that the kernel uses for outgoing connections. In that
# range, a client that tries to reach a stopped broker can connect to itself, and occupy its port.
_LOWEST: Final = 15_000
_HIGHEST: Final = 32_000
_ATTEMPTS: Final = 200
PREFERRED: Final = {"web": 8080}
# Ports that this process has claimed: a map from port to the ports file of its home.
_claims: Final[dict[int, Path]] = {}


def is_free(port: int) -> bool:
    """Return True if a server could listen on `port` now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port(taken: Iterable[int] = ()) -> int:
    """Return a port that has no listener and is not in `taken`.

    Raises:
        StackError: 200 random ports were all taken.
    """
    avoid = set(taken)
    for _ in range(_ATTEMPTS):
        port = random.randrange(_LOWEST, _HIGHEST)  # noqa: S311 -- a port is no secret
        if port not in avoid and is_free(port):
            return port
    message = f"no free port between {_LOWEST} and {_HIGHEST} on 127.0.0.1"
    raise StackError(message, repair="ss -ltnp")


def claim(port: int, owner: Path) -> bool:
    """Reserve `port` for `owner` until this process ends. Return False if another owner has it.

    The web process begins to listen 20 s after the choice of its port. Without a claim, two stacks
    that start at the same time would both choose 8080. A claim is the name of an abstract Unix
    socket. Like a port, the name is unique in a network namespace. The kernel frees it when the
    process ends.
    """
    if port in _claims:
        return _claims[port] == owner
    mark = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        mark.bind(f"\0retail-inventory/port/{port}")
    except OSError:
        mark.close()
        return False
    mark.detach()  # the descriptor stays open until this process ends
    _claims[port] = owner
    return True


def choose_ports(file: Path, names: Iterable[str], wanted: dict[str, int]) -> dict[str, int]:
    """Return a port for each of `names`, and store the ports in `file`.

    For each name, the candidates are the port in `wanted`, the port in `file` and the port in
    `PREFERRED`, in this order. The first free one is chosen, or a random free port if no
    candidate is free. With 0 as the wanted port, `PREFERRED` is ignored.
    """
    remembered: dict[str, int] = (
        json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    )
    chosen: dict[str, int] = {}
    for name in names:
        taken = set(chosen.values()) | set(remembered.values())
        candidates = [wanted.get(name), remembered.get(name), PREFERRED.get(name)]
        if wanted.get(name) == 0:
            candidates = [remembered.get(name)]
        chosen[name] = next(
            (port for port in candidates if port and is_free(port) and claim(port, file)), 0
        ) or _claimed_port(taken, file)
    write_json(file, remembered | chosen)
    return chosen


def _claimed_port(taken: set[int], owner: Path) -> int:
    while not claim(port := free_port(taken), owner):
        taken.add(port)
    return port

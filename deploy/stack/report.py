"""The supervisor's live report, which commands query over a socket.

The file `runtime.json` can't be updated while the disk is full. The socket is an abstract Unix
socket, which has no file. So neither a full disk nor a long path of the home affects it. The
supervisor checks the client's user id, and the client checks the supervisor's pid. A loopback port
would not be safe, because another program could use the port, and every account could connect.
"""

import contextlib
import hashlib
import json
import os
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any, Final

from typing_extensions import override

from deploy.stack.home import Home
from deploy.stack.processes import ProcessId, suspended

_CREDENTIALS: Final = struct.Struct("3i")  # pid, user id and group id of the other process
_ANSWER_S: Final = 1.0
_WAITING: Final = 64


def address_of(home: Home) -> str:
    """Return the socket's name in Linux's abstract namespace, one per home."""
    digest = hashlib.sha256(str(home.path.resolve()).encode()).hexdigest()
    return f"\0retail-inventory-{digest[:32]}"


class Reporter(threading.Thread):
    """A thread that sends `report()` as JSON to each client of the same account, or of root."""

    def __init__(self, home: Home, report: Callable[[], dict[str, Any]]) -> None:
        """Open the socket of `home`. `report` returns the report to send.

        Raises:
            OSError: another process uses the socket's name.
        """
        super().__init__(name="reporter", daemon=True)
        self._report = report
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(address_of(home))
        self._socket.listen(_WAITING)

    @override
    def run(self) -> None:
        """Answer the clients one after another until the process ends."""
        while True:
            client, _ = self._socket.accept()
            with client, contextlib.suppress(OSError):
                client.settimeout(_ANSWER_S)
                if _credentials(client)[1] in (os.geteuid(), 0):
                    client.sendall(json.dumps(self._report()).encode())


def query(home: Home, supervisor: ProcessId) -> dict[str, Any] | None:
    """Return the report of exactly this supervisor. Return None if it doesn't answer within 1 s."""
    if suspended(supervisor):
        return None
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(_ANSWER_S)
        try:
            client.connect(address_of(home))
            if _credentials(client)[0] != supervisor.pid:
                return None
            text = b"".join(iter(lambda: client.recv(1 << 16), b""))
            found = json.loads(text) if text else None
        except (OSError, ValueError):
            return None
    return found if isinstance(found, dict) else None


def _credentials(end: socket.socket) -> tuple[int, int, int]:
    raw = end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, user, group = _CREDENTIALS.unpack(raw)
    return pid, user, group

"""One HTTP POST to a receiver, within limits of time and size.

This module uses `http.client`, which follows no redirects and reads no proxy variables.
`http.client` can also send over a connection that this module has opened to a checked IP address.

Connecting takes at most `timeout_s`. Sending and receiving together take at most `timeout_s` more,
even if the receiver answers slowly. The lookup of the host's name has the time limit of this
machine's resolver.
"""

import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from typing import Final, Self
from urllib.parse import urlsplit, urlunsplit

from ledger.webhooks.targets import connect

LARGEST_ANSWER: Final = 64 * 1024
LONGEST_PROBLEM: Final = 200
_PORTS: Final = {"http": 80, "https": 443}
_OK: Final = range(200, 300)
_REDIRECT: Final = range(300, 400)
GONE: Final = 410
DELIVERED: Final = "delivered"
REFUSED: Final = "refused"
TIMEOUT: Final = "timeout"
UNREACHABLE: Final = "unreachable"
RESULTS: Final = (DELIVERED, REFUSED, TIMEOUT, UNREACHABLE)


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of one POST. `status` is None without an answer; `problem` is "" after success.

    `result` is one of `RESULTS`. It is `refused` for an answer with a status other than 200 to 299.
    """

    status: int | None
    problem: str
    result: str

    @property
    def is_delivered(self) -> bool:
        """Return True if the receiver answered with a status from 200 to 299."""
        return not self.problem


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a POST; `private_allowed` permits receivers without a public address."""

    timeout_s: float
    private_allowed: bool


@dataclass(slots=True)
class _Deadline:
    """A timer that shuts the socket down if the `with` block takes longer than `timeout_s`."""

    connected: socket.socket
    timeout_s: float
    is_over: bool = False
    _timer: threading.Timer = field(init=False)

    def __enter__(self) -> Self:
        self._timer = threading.Timer(self.timeout_s, self._end)
        self._timer.daemon = True
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def _end(self) -> None:
        self.is_over = True
        with suppress(OSError):  # the connection may be closed already
            self.connected.shutdown(socket.SHUT_RDWR)


def post(url: str, body: bytes, headers: Mapping[str, str], limits: Limits) -> Answer:
    """Send `body` as JSON; return the receiver's answer, or the problem that prevented one."""
    try:
        return _answer(_status(url, body, headers, limits))
    except TimeoutError:
        return Answer(None, f"no answer within {limits.timeout_s:g} s", TIMEOUT)
    except (OSError, HTTPException, ValueError) as failure:
        problem = f"{type(failure).__name__}: {failure}"[:LONGEST_PROBLEM]
        return Answer(None, problem, UNREACHABLE)


def _status(url: str, body: bytes, headers: Mapping[str, str], limits: Limits) -> int:
    parts = urlsplit(url)
    host, default = parts.hostname or "", _PORTS[parts.scheme]
    connection = HTTPConnection(host, parts.port or default)
    connection.default_port = default  # the header Host has the port only if it isn't this default
    allowed = limits.private_allowed
    connected = connect(host, connection.port, limits.timeout_s, private_allowed=allowed)
    if parts.scheme == "https":
        # The handshake happens later, so that the deadline can end it too.
        context = ssl.create_default_context()
        connected = context.wrap_socket(
            connected, server_hostname=host, do_handshake_on_connect=False
        )
    connection.sock = connected
    path = urlunsplit(("", "", parts.path or "/", parts.query, ""))
    with closing(connection), _Deadline(connected, limits.timeout_s) as deadline:
        try:
            status = _exchange(connection, path, body, headers)
        except (OSError, HTTPException, ValueError) as failure:
            if deadline.is_over:
                raise TimeoutError from failure
            raise
        if deadline.is_over:  # headers that the deadline has cut off look like complete headers
            raise TimeoutError
        return status


def _exchange(
    connection: HTTPConnection, path: str, body: bytes, headers: Mapping[str, str]
) -> int:
    if isinstance(connection.sock, ssl.SSLSocket):
        connection.sock.do_handshake()
    given = {"Content-Type": "application/json", "User-Agent": "retail-inventory-webhooks/1"}
    connection.request("POST", path, body, given | dict(headers))
    answer = connection.getresponse()
    answer.read(LARGEST_ANSWER)
    return answer.status


def _answer(status: int) -> Answer:
    if status in _OK:
        return Answer(status, "", DELIVERED)
    if status in _REDIRECT:
        return Answer(status, f"status {status}: redirects are not followed", REFUSED)
    return Answer(status, f"status {status}", REFUSED)

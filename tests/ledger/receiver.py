"""A receiver of webhooks: a real HTTP server on loopback that records its requests."""

import base64
import hmac
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from typing_extensions import override

DEADLINE_S = 60.0


@dataclass(frozen=True)
class Received:
    """One request: path, headers with names in lower case, and the body."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.body)

    def is_signed_with(self, secret: str) -> bool:
        """Return True if `secret` signed the request. This check uses no code of the sender."""
        head = self.headers
        content = f"{head['webhook-id']}.{head['webhook-timestamp']}.".encode() + self.body
        key = base64.b64decode(secret.removeprefix("whsec_"))
        right = base64.b64encode(hmac.digest(key, content, "sha256")).decode()
        return f"v1,{right}" in head["webhook-signature"].split(" ")


@dataclass
class Receiver:
    """A running receiver. `answer` gets each request and returns its status."""

    url: str
    answer: Callable[[Received], int] = lambda _: 204
    requests: list[Received] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)
    release: threading.Event = field(default_factory=threading.Event)

    def wait_for(self, count: int) -> list[Received]:
        """Return the requests as soon as there are `count`."""
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.requests) >= count, DEADLINE_S):
                message = f"{len(self.requests)} of {count} requests within {DEADLINE_S} s"
                raise TimeoutError(message)
            return [*self.requests]

    @property
    def types(self) -> list[str]:
        return [request.document["type"] for request in self.requests]


@contextmanager
def running_receiver() -> Iterator[Receiver]:
    """Serve on a free port until the block ends."""
    found: Receiver

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            head = {name.lower(): value for name, value in self.headers.items()}
            request = Received(self.path, head, body)
            with found.changed:
                found.requests.append(request)
                found.changed.notify_all()
            status = found.answer(request)
            try:
                self.send_response(status)
                if 300 <= status < 400:
                    self.send_header("Location", f"{found.url}/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()
            except OSError:  # the sender has ended
                return

        @override
        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = Receiver(f"http://127.0.0.1:{server.server_port}/hooks?from=ledger")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield found
    finally:
        found.release.set()
        server.shutdown()
        thread.join(DEADLINE_S)
        server.server_close()

"""Show a key's state to pages: in the read model, as the projector does, or from a worker."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import psycopg
from typing_extensions import override

from cdc.contracts.partition import partition_of
from cdc.contracts.state import encode_level, encode_state
from inventory.model.state import KeyState
from streams.sinks import rows
from streams.sinks.upsert import upsert

AS_OF_US = 1_772_452_800_000_000
REACH = {"as_of_us": AS_OF_US, "worker": "worker-7"}


def project(connection: psycopg.Connection, state: KeyState) -> None:
    """Write the stock row and the window rows of `state` into the read model."""
    number = partition_of(state.inv_key.encode())
    level = rows.stock_row(encode_level(state, ()), number, AS_OF_US)
    upsert(connection, rows.STOCK, [level])
    windows = [
        rows.window_row(state.inv_key, row, state.position, number)
        for row in state.windows.values()
        if row.had_line
    ]
    upsert(connection, rows.SALES_WINDOW, windows)


@contextmanager
def worker_with(state: KeyState) -> Iterator[str]:
    """Yield the address of a server that answers queries for this key as a worker does."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = {"schema": 1, "value": json.loads(encode_state(state)), **REACH}
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        @override
        def log_message(self, format: str, *args: object) -> None:
            """Write no log."""

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()

"""Write the row of a service in `read_model.service_heartbeat`, with the service's progress."""

import json
import os
import time
from collections.abc import Mapping
from typing import Final

import psycopg
import structlog

_EVERY_S: Final = 5.0
_STATEMENT: Final = """
INSERT INTO read_model.service_heartbeat (service, pid, at, detail)
VALUES (%s, %s, clock_timestamp(), %s::jsonb)
ON CONFLICT (service) DO UPDATE SET pid = excluded.pid, at = excluded.at, detail = excluded.detail
"""
_log = structlog.get_logger(__name__)


class Heartbeat:
    """A writer of one service's heartbeat row, at most every 5 s.

    It logs each error of the database and continues. So the archiver, whose own work needs no
    database, continues while Postgres restarts.
    """

    def __init__(self, service: str, database_url: str) -> None:
        self._service = service
        self._url = database_url
        self._connection: psycopg.Connection | None = None
        self._next = 0.0

    def write_if_due(self, detail: Mapping[str, object]) -> None:
        """Write the row, unless the last attempt was less than 5 s ago."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _EVERY_S
        try:
            if self._connection is None:
                self._connection = psycopg.connect(self._url, autocommit=True, connect_timeout=3)
            self._connection.execute(_STATEMENT, (self._service, os.getpid(), json.dumps(detail)))
        except psycopg.Error as error:
            _log.warning("service heartbeat not written", error=str(error))
            self.close()

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

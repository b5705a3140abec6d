"""The parts that the background processes of the ledger share: time limits and a heartbeat row.

Call these functions after `django.setup()`.
"""

import json
import os
from collections.abc import Mapping
from typing import Any, Final

# `connect_timeout` is in seconds, `tcp_user_timeout` in milliseconds. Without them, a process would
# wait for a dead server until TCP's own timeouts end, which takes minutes.
_LIMITS: Final[Mapping[str, Any]] = {"connect_timeout": 5, "tcp_user_timeout": 10_000}
_ALIVE: Final = """
INSERT INTO read_model.service_heartbeat (service, pid, at, detail)
VALUES (%s, %s, clock_timestamp(), %s::jsonb)
ON CONFLICT (service) DO UPDATE SET pid = excluded.pid, at = excluded.at, detail = excluded.detail
"""


def limit_connections(service: str, *, statement_s: int) -> None:
    """Add connect, TCP and statement timeouts to the database settings of every thread.

    Postgres shows the sessions as `inventory-SERVICE`.
    """
    from django.db import connections  # noqa: PLC0415 -- after setup

    options = connections.settings["default"]["OPTIONS"]
    options |= {**_LIMITS, "application_name": f"inventory-{service}"}
    options["options"] += f" -c statement_timeout={statement_s * 1000}"


def report_alive(service: str, detail: Mapping[str, int]) -> None:
    """Write the service's heartbeat row, with figures of the service in `detail`."""
    from django.db import connection  # noqa: PLC0415 -- after setup

    with connection.cursor() as cursor:
        cursor.execute(_ALIVE, (service, os.getpid(), json.dumps(detail)))

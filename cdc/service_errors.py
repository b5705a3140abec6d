"""The last error of each service, as one row of Postgres' table `read_model.service_error`."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, LiteralString

import psycopg

LONGEST: Final = 400
_RECORD: Final[LiteralString] = """
INSERT INTO read_model.service_error AS known (service, at, message, repair)
VALUES (%s, coalesce(%s, clock_timestamp()), %s, %s)
ON CONFLICT (service) DO UPDATE
    SET at = excluded.at, message = excluded.message, repair = excluded.repair,
        times = known.times + 1
    WHERE excluded.at > known.at
"""


@dataclass(frozen=True, slots=True)
class ServiceError:
    """An error of a service. `at` is None for the present time; `repair` is a command or empty."""

    service: str
    message: str
    repair: str = ""
    at: datetime | None = None


def record_error(connection: psycopg.Connection[tuple[Any, ...]], error: ServiceError) -> None:
    """Store `error` as its service's last error, and count it.

    Do nothing if the stored error is as new or newer.

    Raises:
        psycopg.Error: Postgres does not answer.
    """
    message = error.message.replace("\x00", "")[:LONGEST] or "the service gave no reason"
    connection.execute(_RECORD, (error.service, error.at, message, error.repair[:LONGEST]))

"""The heartbeat service: `python -m ledger.automation.heartbeat`.

The workers read no clock, so that a recomputation gives the same results. They take the time from
facts. This service writes two kinds of such facts.

* Heartbeat: once a second it updates one row per partition. The row's commit time shows every
  reader the age of the partition's states, even if the partition has no other records.
* Review: once per UTC day it sets `reviewed_at` of each key whose `clock_mode` is live. The record
  of this update triggers the rules that depend on the day, for example order days.

Every 10 s it also copies the end of the audit chain to a file outside of Postgres
(`ledger.audit.head`). After a restart of Postgres the service continues. It repeats no reviews,
because `reviewed_at` shows which keys were reviewed today.
"""

import os
import threading
from itertools import count
from typing import Final

import psycopg
import structlog

from cdc.contracts.partition import partition_of
from cdc.logs import configure_logging
from cdc.processes import stop_event, work_in_database
from cdc.settings import Connections
from ledger.audit import head

BEAT_EVERY_S: Final = 1.0
# 200 keys a second. 100,000 keys take nine minutes; faster reviews would slow down the tills.
REVIEWED_PER_BEAT: Final = 200
BEATS_PER_HEAD: Final = 10
SERVICE: Final = "heartbeat"
HEARTBEAT_LOCATION: Final = "~heartbeat"

CREATE_ROWS: Final = """
INSERT INTO retail.pipeline_heartbeat (inv_key, location, sku, beat, occurred_at)
SELECT %(location)s || '|' || n, %(location)s, n, 0, clock_timestamp()
FROM unnest(%(numbers)s::text[]) AS given (n)
ON CONFLICT (inv_key) DO NOTHING
"""
BEAT: Final = """
UPDATE retail.pipeline_heartbeat SET beat = beat + 1, occurred_at = clock_timestamp()
WHERE inv_key = ANY(%(keys)s)
"""
# Without MATERIALIZED, Postgres may execute the subselect again for each row, and so update more
# rows than its LIMIT.
REVIEW: Final = """
WITH waiting AS MATERIALIZED (
    SELECT id FROM retail.item_location
    WHERE clock_mode = 'live'
      AND coalesce(reviewed_at, '-infinity'::timestamptz)
          < date_trunc('day', statement_timestamp(), 'UTC')
    ORDER BY coalesce(reviewed_at, '-infinity'::timestamptz), id
    LIMIT %(most)s
    FOR UPDATE SKIP LOCKED
)
UPDATE retail.item_location SET reviewed_at = clock_timestamp()
WHERE id IN (SELECT id FROM waiting)
"""
ALIVE: Final = """
INSERT INTO read_model.service_heartbeat (service, pid, at, detail)
VALUES (%(service)s, %(pid)s, clock_timestamp(), jsonb_build_object('reviewed', %(reviewed)s::int))
ON CONFLICT (service) DO UPDATE SET pid = excluded.pid, at = excluded.at, detail = excluded.detail
"""

log = structlog.get_logger()


def heartbeat_numbers(partitions: int) -> tuple[int, ...]:
    """Return for each partition the smallest n whose key `~heartbeat|n` is in that partition."""
    found: dict[int, int] = {}
    for n in count():
        found.setdefault(partition_of(f"{HEARTBEAT_LOCATION}|{n}".encode(), partitions), n)
        if len(found) == partitions:
            return tuple(found[partition] for partition in range(partitions))
    raise AssertionError  # count() does not end


def create_heartbeats(connection: psycopg.Connection, partitions: int) -> list[str]:
    """Create missing heartbeat rows; return the keys of all rows, ordered by partition number."""
    numbers = [str(n) for n in heartbeat_numbers(partitions)]
    with connection.transaction():
        connection.execute(CREATE_ROWS, {"location": HEARTBEAT_LOCATION, "numbers": numbers})
    return [f"{HEARTBEAT_LOCATION}|{n}" for n in numbers]


def beat(connection: psycopg.Connection, keys: list[str]) -> None:
    """Increment `beat` and set `occurred_at` in the rows of `keys`, in one transaction."""
    with connection.transaction():
        connection.execute(BEAT, {"keys": keys})


def review(connection: psycopg.Connection, most: int = REVIEWED_PER_BEAT) -> int:
    """Set `reviewed_at` of up to `most` keys with `clock_mode` live, once per UTC day and key.

    Return the number of reviewed keys. Skip a key that another transaction has locked; a later call
    reviews it.
    """
    with connection.transaction():
        return connection.execute(REVIEW, {"most": most}).rowcount


def run(connections: Connections, stop: threading.Event) -> None:
    """Write heartbeats and reviews until `stop` is set. Reconnect after a lost connection."""
    work_in_database(
        connections.database_url.get_secret_value(),
        "inventory-jobs",
        lambda connection: _beat_until(stop, connection, connections),
        stop,
    )


def keep_head(connection: psycopg.Connection, settings: Connections) -> None:
    """Update the head file of the audit chain; log a critical event if that is impossible.

    The update is impossible if the chain no longer contains the file's head, or if the file can't
    be read or written. Without a home directory, do nothing.
    """
    path = head.path_of(settings)
    if not path.parent.is_dir():
        return
    try:
        if head.follow(connection, path) is None:
            log.critical("audit_log_changed", kept=str(path), repair="inventory audit verify")
    except (OSError, head.UnreadableHead) as problem:
        log.critical("audit_head_not_kept", error=str(problem), repair="inventory audit verify")


def _beat_until(
    stop: threading.Event, connection: psycopg.Connection, settings: Connections
) -> None:
    keys = create_heartbeats(connection, settings.partitions)
    log.info("heartbeat_started", partitions=settings.partitions)
    for number in count():
        if stop.is_set():
            return
        if number % BEATS_PER_HEAD == 0:
            keep_head(connection, settings)
        beat(connection, keys)
        reviewed = review(connection)
        alive = {"service": SERVICE, "pid": os.getpid(), "reviewed": reviewed}
        connection.execute(ALIVE, alive)
        stop.wait(BEAT_EVERY_S)


def main() -> None:
    """Run the heartbeat service until SIGTERM or SIGINT."""
    configure_logging(service=SERVICE)
    run(Connections(), stop_event())


if __name__ == "__main__":
    main()

"""Names of all `INVENTORY_*` variables. Commands refuse an unknown name instead of ignoring it."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from deploy.errors import StackError

PREFIX: Final = "INVENTORY_"
# One name on each line, so that two changes seldom conflict in Git.
_NAMES: Final = """
ALLOWED_HOSTS
ARCHIVE
CACHE
CHUNK_RECORDS
COMPANY_ADDRESS
COMPANY_NAME
CONNECT_PASSWORD
CONNECT_URL
CURRENCY
DATABASE_POOL
DATABASE_ROLE
DATABASE_URL
DEMO
GENERATION
HOME
HTTPS
IDLE_MINUTES
JVM_COMPILERS
KAFKA_BOOTSTRAP
LOG_LEVEL
OWNER_DATABASE_URL
PARTITIONS
POSTGRES_BIN
PROOF_HOUR
QUERY_TOKEN
READ_DATABASE_URL
REPUBLISH_S
SECOND_FACTOR_ROLES
SECRET_KEY
SESSION_HOURS
SESSION_TIMEOUT_S
SINK_BATCH_RECORDS
SINK_DATABASE_URL
SINK_POLL_MS
SNAPSHOT_S
STALL_S
TIME_ZONE
TRUSTED_ORIGINS
TRUSTED_PROXIES
UNDECODABLE_PERMILLE
WEBHOOK_METRICS_HOST
WEBHOOK_METRICS_PORT
WEBHOOK_PRIVATE_TARGETS
WEBHOOK_TIMEOUT_S
WEBHOOK_WAIT_DAYS
WEB_HOST
WEB_PORT
WORKER_HOST
WORKER_ID
WORKER_PORT
WORKER_URLS
"""
# Read by tests only.
_OF_TESTS: Final = "EXPLAIN_SEEDS ORACLE_SEEDS SIMULATION_SEEDS TEST_RETAIL_FILE UPDATE_PICTURES"
KNOWN: Final = frozenset(PREFIX + name for name in f"{_NAMES} {_OF_TESTS}".split())


def refuse_unknown(names: Iterable[str]) -> None:
    """Raise `StackError` for a name that begins with `INVENTORY_` but is not in `KNOWN`.

    Raises:
        StackError: the message has the name, and the most similar known name.
    """
    for name in sorted(names):
        if name.startswith(PREFIX) and name not in KNOWN:
            near = get_close_matches(name, KNOWN, n=1)
            meant = f"did you mean {near[0]}?" if near else "expected a name from .env.example"
            message = f"environment variable {name} is not known; {meant}"
            raise StackError(message)

"""The Faust application of a worker. No other module creates one.

Faust is used for group membership, assignment of partitions, agents and timers. Its tables,
recovery, windows and `exactly_once` are not used: `streams.engine` has its own state and
transactions. Every setting on which correctness depends is explicit.
"""

from typing import Any, Final

import faust
from faust.tables import TableManager
from typing_extensions import override

from cdc.contracts.topics import APP_ID, PARTITIONS
from streams.settings import WorkerSettings

FETCH_BYTES: Final = 1 << 20  # per partition; a compressed record takes about 100 bytes

_TOPICS: Final[dict[str, Any]] = {
    "topic_partitions": PARTITIONS,
    "topic_allow_declare": False,  # `cdc.capture.admin` creates topics
    "topic_disable_leader": True,  # Faust's leader election needs another topic
    "topic_replication_factor": 1,
    "table_standby_replicas": 0,
}
_STREAM: Final[dict[str, Any]] = {
    # With the default of 4,096 the fetcher sleeps a second whenever one partition's buffer is full.
    "stream_buffer_maxsize": 65_536,
    "stream_wait_empty": True,  # a revocation waits until the present batch is processed
    "stream_processing_timeout": 60,
    "broker_commit_interval": 1.0,
    # By default, a poll has no limit. The records of a poll are processed before the next poll. So
    # this limit also reduces the time for which one partition waits for the others.
    "broker_max_poll_records": 5_000,
    "broker_request_timeout": 30,
    "consumer_auto_offset_reset": "earliest",
}
_PRODUCER: Final[dict[str, Any]] = {
    "producer_acks": -1,
    "producer_linger": 0.005,
    "producer_max_batch_size": 262_144,
    "producer_max_request_size": 1_000_000,
    "producer_compression_type": "zstd",
    "producer_request_timeout": 60,
}
_WEB: Final[dict[str, Any]] = {
    "web_enabled": False,  # Faust's server would answer anybody, without a token
    "web_bind": "127.0.0.1",
    "web_tables_enabled": False,
}


class NoTables(TableManager):
    """A replacement for Faust's table manager, for an app without tables.

    Faust's own table manager sleeps a second before it subscribes, so that agents can register
    tables. During that second, the partitions of a restarted worker would be idle.
    """

    @override
    async def sleep(self, n: object) -> None:
        """Yield to the event loop once instead of sleeping `n` seconds."""
        await super().sleep(0)


def create_app(settings: WorkerSettings) -> faust.App:
    """Return the Faust app of one worker.

    Its consumer group is `APP_ID`, which contains the logic revision (version number of the rules).
    """
    return faust.App(
        APP_ID,
        version=1,  # with 1, Faust uses the id unchanged; from 2 on it appends the version
        broker=f"kafka://{settings.kafka_bootstrap}",
        store="memory://",
        TableManager=NoTables,
        datadir=str(settings.worker_dir / settings.worker_id),
        canonical_url=f"http://{settings.worker_id}:6066",  # a stable name, never an address
        processing_guarantee="at_least_once",
        key_serializer="raw",
        value_serializer="raw",
        cython_optimizations=True,
        debug=False,
        **_TOPICS,
        **_STREAM,
        **_PRODUCER,
        **_WEB,
        **_membership(settings),
        consumer_max_fetch_size=FETCH_BYTES,
    )


def _membership(settings: WorkerSettings) -> dict[str, Any]:
    """Return the settings of this worker's group membership: static id, timeouts, heartbeats."""
    return {
        "consumer_group_instance_id": settings.worker_id,
        "broker_session_timeout": settings.session_timeout_s,
        "broker_heartbeat_interval": settings.heartbeat_s,
        "broker_rebalance_timeout": 60,
    }

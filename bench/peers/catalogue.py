"""The compared peers, each with a short description of its setup."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import httpx
import psycopg

from bench.peers import outputs
from bench.peers.groups import committed, forget_group
from bench.peers.peer import Peer, PeerContext, Services
from bench.peers.programs.sql_consumer import DATABASE_VARIABLE
from bench.peers.topics import CHANGELOG, create, delete, ends
from bench.peers.worker_prelude import opening_units
from cdc.capture.admin import create_topics
from cdc.contracts.topics import APP_ID, ON_HAND_CHANGELOG, STOCK_EVENTS, TOPICS

_FOREIGN: Final = Path(__file__).with_name("foreign")


def _module(name: str) -> Sequence[str]:
    return ("-m", f"bench.peers.programs.{name}")


def _group_position(context: PeerContext) -> int:
    return sum(committed(context.services.bootstrap, context.name, context.topic).values())


def _changelogs(context: PeerContext) -> None:
    names = (f"{context.name}-on_hand-changelog", f"{context.name}-windows-changelog")
    create(context.services.bootstrap, names, CHANGELOG)


def _done(context: PeerContext) -> int:
    return _EVERYTHING if (context.directory / "done").exists() else 0


def _database(context: PeerContext) -> str:
    base, _, _ = context.services.database_url.rpartition("/")
    return f"{base}/{context.name.replace('-', '_')}"


def _create_database(context: PeerContext) -> None:
    with psycopg.connect(context.services.database_url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{context.name.replace("-", "_")}"')


def _sql_position(context: PeerContext) -> int:
    with psycopg.connect(_database(context)) as connection:
        found = connection.execute(
            "SELECT coalesce(sum(next_offset), 0)::bigint FROM positions"
        ).fetchone()
    return 0 if found is None else int(found[0])


def _sql_variables(context: PeerContext) -> Mapping[str, str]:
    return {DATABASE_VARIABLE: _database(context)}


def _postgres(services: Services) -> int:
    return services.postgres_pid


_EVERYTHING: Final = 1 << 62
_WORKER_PORT: Final = "INVENTORY_WORKER_PORT"


def fresh_worker(context: PeerContext) -> None:
    """Reset the worker's topics and group to the state before its first start."""
    bootstrap = context.services.bootstrap
    forget_group(bootstrap, context.name)
    delete(bootstrap, [topic.name for topic in TOPICS if topic.name != STOCK_EVENTS])
    create_topics(bootstrap)


def _worker_begun(context: PeerContext) -> Callable[[], bool]:
    """Return a condition that is true once the changelog of levels has grown.

    This growth shows the worker's first record. Other peers show theirs by creating the file
    `first`; a worker doesn't create it.
    """
    bootstrap = context.services.bootstrap
    before = sum(ends(bootstrap, ON_HAND_CHANGELOG).values())
    return lambda: sum(ends(bootstrap, ON_HAND_CHANGELOG).values()) > before


def _worker_ready(context: PeerContext) -> Callable[[], bool]:
    """Return a condition that is true once the worker has restored all partitions.

    The condition queries the worker by HTTP, because a worker writes no record after a restore.
    """
    port = context.services.worker_environment[_WORKER_PORT]

    def ready() -> bool:
        try:
            url = f"http://127.0.0.1:{port}/readyz"
            return httpx.get(url, timeout=5, trust_env=False).is_success
        except httpx.TransportError:
            return False

    return ready


def _worker_variables(context: PeerContext) -> Mapping[str, str]:
    own = {"INVENTORY_HOME": str(context.directory), "INVENTORY_WORKER_ID": "worker-1"}
    return {**context.services.worker_environment, **own}


PEERS: Final = (
    Peer(
        name="engine",
        title="this engine, common job",
        what="a worker's consumer, fencing and transactions, with a small fold; chunks of 10,000",
        environment="ours",
        command=lambda _: _module("engine_common"),
        position=_group_position,
        outputs=lambda context: outputs.of_rows(context.services.bootstrap, context.name),
        prepare=_changelogs,
    ),
    Peer(
        name="worker",
        title="this engine, all rules",
        what="the worker, all rules; three records a key come first: policy, price and count",
        environment="ours",
        command=lambda _: ("-m", "streams.worker"),
        position=_group_position,
        outputs=lambda context: outputs.of_worker(
            context.services.bootstrap, opening_units(context.keys)
        ),
        prepare=fresh_worker,
        begun=_worker_begun,
        variables=_worker_variables,
        restored=_worker_ready,
        input=STOCK_EVENTS,
        fixed_name=APP_ID,
    ),
    Peer(
        name="plain",
        title="confluent-kafka loop",
        what="consume 20,000, fold, produce the changelog, flush, commit; no fencing, no group",
        environment="ours",
        command=lambda _: _module("plain_loop"),
        position=_group_position,
        outputs=lambda context: outputs.of_rows(context.services.bootstrap, context.name),
        prepare=_changelogs,
    ),
    Peer(
        name="sql",
        title="SQL consumer",
        what="consume 20,000, sum up in Python, COPY and upsert with offsets in one transaction",
        environment="ours",
        command=lambda _: _module("sql_consumer"),
        position=_sql_position,
        outputs=lambda context: outputs.of_tables(_database(context)),
        prepare=_create_database,
        variables=_sql_variables,
        beside=_postgres,
        restores=False,
    ),
    Peer(
        name="kstreams",
        title="Kafka Streams 4.3.1",
        what="Java DSL, one thread, stores in memory, default changelogs, default cache of 10 MB",
        environment="kstreams",
        command=lambda _: ("peers.Peer",),
        position=_group_position,
        outputs=lambda context: outputs.of_streams(context.services.bootstrap, context.name),
    ),
    Peer(
        name="faust",
        title="Faust 0.15.3 tables",
        what="standard agent, table and windowed table in memory, JSON changelogs",
        environment="ours",
        command=lambda _: _module("faust_tables"),
        position=_group_position,
        outputs=lambda context: outputs.of_faust(context.services.bootstrap, context.name),
        # Create the topics in advance. If Faust created them, its metadata might lack them at
        # first, and Faust would stop.
        prepare=_changelogs,
        most_records=20_000,
    ),
    Peer(
        name="bytewax",
        title="Bytewax 0.21.1",
        what="one worker, own windows in stateful_map, recovery in SQLite; no changelog",
        environment="bytewax",
        command=lambda _: (str(_FOREIGN / "bytewax_flow.py"),),
        position=_done,
        outputs=lambda context: outputs.of_bytewax(context.directory / "outputs.json"),
        restores=False,
        ends_itself=True,
    ),
    Peer(
        name="quix",
        title="Quix Streams 3.28.1",
        what="stateful apply and tumbling windows, RocksDB and changelogs",
        environment="quix",
        command=lambda _: (str(_FOREIGN / "quix_streams.py"),),
        position=_group_position,
        outputs=lambda context: outputs.of_quix(
            context.services.bootstrap, context.name, context.topic
        ),
    ),
)
BY_NAME: Final = {peer.name: peer for peer in PEERS}

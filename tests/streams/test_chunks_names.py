"""Private names of Faust that one module uses, each with the property that the module needs."""

import ast
import asyncio
import inspect
from pathlib import Path

import aiokafka
import pytest
from aiokafka.consumer.group_coordinator import GroupCoordinator
from faust.tables import TableManager
from faust.transport.base import Transport
from faust.transport.drivers import aiokafka as driver

import streams.worker.chunks as module
from streams.app import NoTables, create_app
from streams.settings import WorkerSettings
from streams.worker.chunks import ChunkConsumer, QuickFetches
from tests.streams.rigged import ONE, rigged

# Each private name that the module uses, with the parameters it relies on; None is an attribute.
CONTRACT: dict[str, tuple[type, tuple[str, ...] | None]] = {
    "_drain_messages": (driver.Consumer, ("self", "fetcher")),
    "_wait_next_records": (driver.Consumer, ("self", "timeout")),
    "_get_active_partitions": (driver.Consumer, ("self",)),
    "_new_consumer_thread": (driver.Consumer, ("self",)),
    "_create_worker_consumer": (driver.AIOKafkaConsumerThread, ("self", "transport")),
    "_log_slow_processing_stream": (driver.AIOKafkaConsumerThread, ("self", "msg", "args")),
    "_log_slow_processing_commit": (driver.AIOKafkaConsumerThread, ("self", "msg", "args")),
    "_filter_tps_with_pending_acks": (driver.Consumer, ("self", "topics")),
    "_new_offset": (driver.Consumer, ("self", "tp")),
    "_to_message": (driver.Consumer, ("self", "tp", "record")),
    "_add_gap": (driver.Consumer, ("self", "tp", "offset_from", "offset_to")),
    "_read_offset": (driver.Consumer, None),
    "_buffered_partitions": (driver.Consumer, None),
    "_stopped": (driver.Consumer, None),
    "_thread": (driver.Consumer, None),
    "_consumer": (driver.AIOKafkaConsumerThread, None),
    "_coordinator": (aiokafka.AIOKafkaConsumer, None),
    "_send_req": (GroupCoordinator, ("self", "request")),
    "_fetch_max_wait_ms": (aiokafka.AIOKafkaConsumer, None),
    "_isolation_level": (aiokafka.AIOKafkaConsumer, None),
}
# Public names that Faust doesn't document, so a release may change them.
RELIED_ON: dict[str, tuple[type, tuple[str, ...]]] = {
    "wait_empty": (driver.Consumer, ("self",)),
    "on_partitions_revoked": (driver.Consumer, ("self", "revoked")),
    "perform_seek": (driver.Consumer, ("self",)),
    "seek_to_committed": (driver.Consumer, ("self",)),
    "seek_wait": (driver.Consumer, ("self", "partitions")),
    "earliest_offsets": (driver.Consumer, ("self", "partitions")),
    "on_buffer_full": (driver.Consumer, ("self", "tp")),
    "on_buffer_drop": (driver.Consumer, ("self", "tp")),
    "create_consumer": (Transport, ("self", "callback", "kwargs")),
}


def parameters(owner: type, name: str) -> tuple[str, ...]:
    return tuple(inspect.signature(getattr(owner, name)).parameters)


@pytest.mark.parametrize("name", [name for name, (_, expected) in CONTRACT.items() if expected])
def test_a_private_faust_method_has_the_expected_parameters(name: str) -> None:
    owner, expected = CONTRACT[name]

    assert parameters(owner, name) == expected


@pytest.mark.parametrize("name", RELIED_ON)
def test_an_undocumented_faust_method_has_the_expected_parameters(name: str) -> None:
    owner, expected = RELIED_ON[name]

    assert parameters(owner, name) == expected


def test_every_private_name_that_is_used_is_in_the_contract() -> None:
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    private = {name for name in used if name.startswith("_") and not name.startswith("__")}
    ours = {*vars(ChunkConsumer), *vars(QuickFetches)}
    ours |= {"_hot_topic", "_handler", "_most_records", "_on_failure"}
    overridden = {name for name in vars(ChunkConsumer) if hasattr(driver.Consumer, name)}

    assert private - ours - {"_lanes", "_room"} <= CONTRACT.keys()
    ours = {"_abc_impl"}  # set by Python's `abc`
    assert {n for n in overridden if n[0] == "_" and n[:2] != "__"} - ours <= CONTRACT.keys()


def test_only_two_false_warnings_of_faust_are_suppressed() -> None:
    told: list[str] = []

    async def inside() -> None:
        with rigged() as rig:
            thread = rig.consumer._thread
            thread._log_slow_processing = lambda msg, *_, **__: told.append(msg)
            for msg in (driver.SLOW_PROCESSING_STREAM_IDLE_SINCE_START, "stream"):
                thread._log_slow_processing_stream(msg, ONE, "now")
            for msg in (driver.SLOW_PROCESSING_NO_COMMIT_SINCE_START, "commit"):
                thread._log_slow_processing_commit(msg, ONE, "now")

    asyncio.run(inside())

    assert told == ["stream", "commit"]
    source = inspect.getsource(driver.AIOKafkaConsumerThread.verify_event_path)
    assert source.count("SLOW_PROCESSING_STREAM_IDLE_SINCE_START") == 1
    assert source.count("SLOW_PROCESSING_NO_COMMIT_SINCE_START") == 1


def test_the_only_sleep_of_the_faust_table_manager_is_skipped() -> None:
    app = create_app(WorkerSettings())

    assert inspect.getsource(TableManager).count("self.sleep(") == 1
    assert isinstance(app.tables, NoTables)
    assert asyncio.run(asyncio.wait_for(app.tables.sleep(3_600), 60)) is None


def test_only_chunks_py_imports_a_faust_transport() -> None:
    root = Path(module.__file__).parents[1]
    importing = [p.name for p in root.rglob("*.py") if "faust.transport" in p.read_text("utf-8")]

    assert importing == ["chunks.py"]

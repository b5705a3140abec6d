"""Each reason that ends a worker has its own exit code and description."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiokafka.errors import KafkaConnectionError, OffsetOutOfRangeError
from confluent_kafka import KafkaException
from structlog.testing import capture_logs

from cdc.contracts.progress import Progress
from cdc.contracts.topics import (
    ON_HAND_CHANGELOG,
    PARTITIONS,
    SALES_WINDOWS_CHANGELOG,
    STOCK_EVENTS,
)
from cdc.contracts.versions import UnreadableRecord
from inventory.errors import BrokenInvariant
from inventory.revision import LOGIC_REVISION
from streams.engine import transactions
from streams.engine.kafka_log import ReadStalled
from streams.engine.memory import MemoryBroker
from streams.engine.mismatch import (
    LogMismatch,
    OldRecords,
    TornChangelogs,
    UnfinishedPublication,
    refuse_other_counts,
    refuse_unfinished,
)
from streams.engine.records import Fenced, FoundTopic
from streams.engine.transactions import _refuse_lost_end
from streams.engine.undecodable import SchemaBreak
from streams.exit_codes import MEANINGS, NEW_GENERATION, REBUILD, ExitCode, meaning_of
from streams.query.server import QueryServer
from streams.settings import WorkerSettings
from streams.worker import agents, runtime
from streams.worker import topic_identity as origins
from streams.worker.__main__ import main


class Topics(MemoryBroker):
    """Broker with the methods that a worker's watchdog uses."""

    def __init__(self) -> None:
        super().__init__()
        self.grown: dict[str, FoundTopic] = {}

    async def all_bounds(
        self, topic: str, partitions: Iterable[int]
    ) -> Mapping[int, tuple[int, int]]:
        return {number: await self.bounds(topic, number) for number in partitions}

    async def describe(self, topics: Sequence[str]) -> Mapping[str, FoundTopic]:
        found = {name: FoundTopic(self.topic_id(name), PARTITIONS) for name in topics}
        return found | self.grown


def opened(broker: Topics) -> Callable[[], AbstractAsyncContextManager[Topics]]:
    @asynccontextmanager
    async def open_log() -> AsyncIterator[Topics]:
        yield broker

    return open_log


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UnreadableRecord("version 9"), 65),
        (LogMismatch("cut off"), 66),
        (OffsetOutOfRangeError(), 66),
        (KafkaConnectionError(), 69),
        (KafkaException("gone"), 69),
        (ReadStalled("nothing"), 69),
        (TimeoutError(), 69),
        (ConnectionResetError(), 69),
        (OSError(28, "No space left on device"), 74),
        (BrokenInvariant("ring"), 70),
        (Fenced("another owner"), 75),
        (SchemaBreak("garbage"), 76),
        (runtime.Stuck("nothing moves"), 124),
        (RuntimeError("what is this"), 1),
        (None, 1),
    ],
)
def test_an_error_ends_a_worker_with_the_code_of_its_kind(
    error: BaseException | None, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes: list[int] = []

    class Ended(BaseException):
        pass

    def end(given: int) -> None:
        codes.append(given)
        raise Ended

    monkeypatch.setattr("os._exit", end)
    with pytest.raises(Ended):
        runtime.die("the end", error)

    assert codes == [code]


@pytest.mark.parametrize(
    ("error", "repair"),
    [
        (TornChangelogs("a window row is newer than its level"), REBUILD),
        (OldRecords("1000 records in a row"), NEW_GENERATION),
        (BrokenInvariant("dedupe ring: 500001 records within 120 s"), NEW_GENERATION),
    ],
)
def test_a_rebuild_is_the_printed_repair_only_for_wrong_changelogs(
    error: BrokenInvariant, repair: str
) -> None:
    """After the other two errors, a replay of the same log would stop at the same record."""
    assert runtime.exit_code_of(error) == ExitCode.BROKEN_INVARIANT
    assert runtime.repair_of(error).partition("  # ")[0] == repair


@pytest.mark.parametrize(
    ("worker", "repair"),
    [
        ("worker-1", REBUILD),
        ("shadow-v2-1", f"inventory revision retire {LOGIC_REVISION} --delete"),
    ],
)
def test_the_repair_of_an_unfinished_publication_depends_on_the_worker(
    worker: str, repair: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`revision retire` refuses the stack's own revision, so its repair is a rebuild."""
    repairs: list[str] = []
    monkeypatch.setattr(runtime, "die", lambda _, error: repairs.append(runtime.repair_of(error)))
    with pytest.raises(UnfinishedPublication, match="an incomplete published backfill") as ended:
        refuse_unfinished(3, Progress(0, None, None, streamed=False))

    runtime.die_of_takeover(worker, ended.value)

    assert repairs == [repair]


def test_a_worker_that_cannot_log_its_error_still_exits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The process must end at once, even if a full disk doesn't let it write the reason."""
    codes: list[int] = []

    class Full:
        def critical(self, *_: object, **_fields: object) -> None:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("os._exit", codes.append)
    monkeypatch.setattr(runtime, "log", Full())
    with pytest.raises(OSError, match="No space"):
        runtime.die("the end", Fenced("another owner"))

    assert codes == [75]


def test_an_error_without_message_is_logged_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os._exit", lambda _code: None)
    die: Callable[..., object] = runtime.die  # it returns, because `os._exit` is replaced
    with capture_logs() as logs:
        die("worker can't start", TimeoutError())
        die("a record arrived outside a chunk")

    assert [line["problem"] for line in logs] == ["TimeoutError()", ""]
    assert [line["repair"] for line in logs] == ["inventory restart kafka", ""]


def test_every_exit_code_and_signal_has_a_description() -> None:
    assert set(MEANINGS) == set(ExitCode)
    assert meaning_of(66) == "a topic was deleted, recreated, truncated or got more partitions"
    assert meaning_of(-9) == "signal 9"
    assert meaning_of(33) == "exit code 33"


@pytest.mark.parametrize("begin", [0, 39])
def test_a_commit_into_a_topic_with_lost_last_records_is_refused(begin: int) -> None:
    """The topic lost its last records. A commit would give their offsets to other records."""
    known = {"levels": 40, "windows": 7}

    _refuse_lost_end(3, known, {"levels": 40, "windows": 9, "reorder.events": 0})

    with pytest.raises(LogMismatch, match=rf"levels\[3\] up to offset 40, .* got offset {begin}"):
        _refuse_lost_end(3, known, {"levels": begin})


@pytest.mark.parametrize("content", [None, "", "[1, 2]", "{"])
def test_an_unreadable_file_of_topic_ids_counts_as_missing(content: str | None, tmp_path) -> None:
    known = tmp_path / "topics.json"
    if content is not None:
        known.write_text(content, encoding="utf-8")

    assert origins._read(known) == {}
    known.write_text(json.dumps({"stock.events": "abc"}), encoding="utf-8")
    assert origins._read(known) == {"stock.events": "abc"}


def test_a_full_disk_leaves_the_file_of_topic_ids_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = tmp_path / "workers" / "topics.json"
    origins._store(known, {"stock.events": "abc"})
    written = Path.write_text

    def full(path: Path, content: str, encoding: str) -> int:
        written(path, content[:3], encoding)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space"):
        origins._store(known, {"stock.events": "def"})

    assert origins._read(known) == {"stock.events": "abc"}
    assert list(known.parent.iterdir()) == [known]


def test_a_worker_that_cannot_write_its_home_ends_with_the_disk_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[BaseException | None] = []

    class Ended(BaseException):
        pass

    def end(_event: str, error: BaseException) -> None:
        ended.append(error)
        raise Ended

    home = tmp_path / "home"
    home.write_text("a file", encoding="utf-8")
    monkeypatch.setenv("INVENTORY_HOME", str(home))
    monkeypatch.setattr("streams.worker.__main__.configure_logging", lambda **_: None)
    monkeypatch.setattr("streams.worker.__main__.die", end)
    with pytest.raises(Ended):
        main()

    assert [runtime.exit_code_of(error) for error in ended] == [ExitCode.DISK]


def test_a_worker_without_assignment_from_its_group_ends_as_stuck(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[BaseException | None] = []
    monkeypatch.setattr(runtime, "die", lambda _event, error: ended.append(error))

    async def wait() -> None:
        worker: Any = runtime.Runtime(WorkerSettings(home=tmp_path))
        worker.open_log = opened(Topics())
        await worker.ownership.assign([])
        worker.ownership.restored_at -= 1_000
        await worker.inspect()
        assert ended == []
        await worker.ownership.revoked()
        worker.ownership.restored_at -= 1_000
        await worker.inspect()

    asyncio.run(wait())

    assert ["no partition was assigned or restored" in str(error) for error in ended] == [True]
    assert runtime.exit_code_of(ended[0]) == ExitCode.STUCK


def test_a_running_worker_ends_when_a_topic_was_recreated(tmp_path: Path) -> None:
    """Offsets alone don't show it: the new topic may have reached the same offset."""
    broker = Topics()

    async def look_twice() -> None:
        began = await broker.topic_ids(origins.ORIGINS)
        worker: Any = runtime.Runtime(WorkerSettings(home=tmp_path), began)
        worker.open_log = opened(broker)
        await worker.inspect()
        broker.delete(SALES_WINDOWS_CHANGELOG, 0)
        await worker.inspect()

    with pytest.raises(LogMismatch, match="sales_windows-changelog was deleted and recreated"):
        asyncio.run(look_twice())


@pytest.mark.parametrize(
    ("topic", "way"), [(STOCK_EVENTS, "generation --yes"), (ON_HAND_CHANGELOG, "workers rebuild")]
)
def test_a_running_worker_ends_when_a_topic_gets_more_partitions(
    topic: str, way: str, tmp_path: Path
) -> None:
    """A producer that sees the new partitions sends nearly every key to another partition."""
    broker = Topics()

    async def look_twice() -> None:
        worker: Any = runtime.Runtime(WorkerSettings(home=tmp_path))
        worker.open_log = opened(broker)
        await worker.inspect()
        broker.grown = {topic: FoundTopic(broker.topic_id(topic), PARTITIONS + 1)}
        await worker.inspect()

    with pytest.raises(LogMismatch, match=r"has 13 partitions, .* among 12") as ended:
        asyncio.run(look_twice())

    assert way in runtime.repair_of(ended.value)


def test_a_worker_with_a_wrong_partition_setting_is_refused() -> None:
    with pytest.raises(LogMismatch, match=r"among 6 \(INVENTORY_PARTITIONS\)") as ended:
        refuse_other_counts({STOCK_EVENTS: 12}, 6)

    assert runtime.repair_of(ended.value) == "inventory down && inventory up --detach"


@pytest.mark.parametrize("bounds", [(5, 9), (0, 3)])
def test_a_source_topic_without_the_next_offset_ends_the_worker(
    bounds: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[BaseException] = []
    monkeypatch.setattr(runtime, "die", lambda _event, error: ended.append(error))

    runtime._refuse_other_log(2, 4, *bounds)

    assert [type(error) for error in ended] == [LogMismatch]
    assert "continues at 4" in str(ended[0])


def test_a_source_topic_that_reaches_the_next_offset_is_accepted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runtime, "die", lambda *_: pytest.fail("it is"))

    runtime._refuse_other_log(2, 4, 0, 4)


def test_a_worker_whose_address_is_taken_ends_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[BaseException] = []
    monkeypatch.setattr(agents, "die", lambda _event, error: ended.append(error))

    async def start_beside(taken: socket.socket) -> None:
        settings = WorkerSettings(home=tmp_path, worker_port=taken.getsockname()[1])
        server = QueryServer(runtime.Runtime(settings))
        await agents.start_server(server, settings)
        await server.stop()

    with socket.create_server(("127.0.0.1", 0)) as taken:
        asyncio.run(start_beside(taken))

    assert [type(error) for error in ended] == [runtime.AddressTaken]
    assert "address already in use" in str(ended[0])
    assert runtime.exit_code_of(ended[0]) == ExitCode.FAILED
    assert runtime.repair_of(ended[0]) == "inventory down && inventory up --detach"


def test_a_transaction_that_the_broker_does_not_accept_times_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a time limit, a producer retries for ever if replicas are missing."""
    monkeypatch.setattr(transactions, "ANSWER_S", 0.01)

    class Waiting:
        async def begin_transaction(self) -> None:
            await asyncio.Event().wait()

    producers: Any = transactions.PartitionProducers("nowhere", "app")
    producers._producers = {3: Waiting()}

    with pytest.raises(
        TimeoutError, match=r"partition 3: the broker accepted no transaction"
    ) as ended:
        asyncio.run(producers.acknowledged(3, []))

    assert runtime.exit_code_of(ended.value) == ExitCode.BROKER

"""A published run equals the result of a replay. An incomplete one is refused."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from typing_extensions import override

from analytics.archive.manifest import Manifest
from analytics.backfill.history import PartitionHistory
from analytics.engines.task import recompute
from analytics.engines.unit import units_of
from cdc.contracts.decisions import NotADecision, decode_price, decode_reorder
from cdc.contracts.progress import HEADER, RING_HEADER, Beat, progress_in
from cdc.contracts.state import encode_state
from cdc.contracts.topics import (
    PRICE_EVENTS,
    REORDER_EVENTS,
    STOCK_EVENTS,
    STOCK_LATE,
    STOCK_REJECTED,
)
from inventory.model.ids import InvKey
from inventory.model.state import KeyState
from streams.engine import publication
from streams.engine.loop import handle_chunk
from streams.engine.memory import Crash, EffectHook, MemoryBroker, undisturbed
from streams.engine.mismatch import LogMismatch
from streams.engine.publication import SOURCES, Publication
from streams.engine.records import Broker, Fenced, SourceRecord, TopicIds
from streams.engine.restore import CHANGELOGS, restore
from streams.engine.store import OwnedPartition
from tests.analytics.histories import Generated, archived, generate
from tests.streams.lives import Crashes

pytestmark = pytest.mark.engines

GENERATION = 1
BUCKETS = 2
TOLD = (HEADER, RING_HEADER)
OUTPUTS = (*CHANGELOGS, REORDER_EVENTS, PRICE_EVENTS, STOCK_LATE, STOCK_REJECTED)
Content = Mapping[bytes | None, tuple[bytes | None, Mapping[str, bytes]]]


@dataclass(frozen=True)
class Case:
    """A history and the results of a run up to `ends`."""

    log: Generated
    ends: Mapping[int, int]
    histories: tuple[PartitionHistory, ...]


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """Return four days with damaged, re-sent and late records, and with heartbeats.

    The run ends 40 records before the end of each partition.
    """
    log = generate(seed=11, records=600, keys=24, heartbeats=True)
    directory = tmp_path_factory.mktemp("publication")
    manifest = archived(directory / "archive", log)
    ends = {number: len(part) - 40 for number, part in log.log.items()}
    return Case(log, ends, tuple(recomputed(manifest, ends, directory / "results")))


def recomputed(
    manifest: Manifest, ends: Mapping[int, int], results: Path
) -> list[PartitionHistory]:
    rows = [recompute(unit, results) for unit in units_of(manifest, ends, buckets=BUCKETS)]
    return [
        PartitionHistory(
            number,
            GENERATION,
            end,
            tuple(row for row in rows if row.partition == number),
            manifest,
        )
        for number, end in ends.items()
    ]


def broker_of(case: Case) -> MemoryBroker:
    broker = MemoryBroker()
    for number, part in case.log.log.items():
        for arrival in part:
            broker.produce(STOCK_EVENTS, number, arrival.key, arrival.value)
    return broker


def records(broker: MemoryBroker, number: int, begin: int, end: int) -> list[SourceRecord]:
    found = broker.topics[STOCK_EVENTS, number][begin:end]
    return [SourceRecord(record.offset, record.key, record.value) for record in found]


async def publish(case: Case, broker: MemoryBroker, reach: EffectHook = undisturbed):
    ids = await broker.topic_ids(SOURCES)
    made = []
    for history in case.histories:
        writer = broker.writer(history.number, reach)
        made.append(Publication(history, writer, ids))
    for one in made:
        await one.begin()
    for one in made:
        await one.write()
    for one in made:
        assert await one.write_progress()


async def replay(broker: MemoryBroker, number: int, end: int, size: int) -> OwnedPartition:
    owned = await restore(number, GENERATION, broker)
    writer = broker.writer(number)
    while owned.next_offset < end:
        upto = min(end, owned.next_offset + size)
        await handle_chunk(records(broker, number, owned.next_offset, upto), owned, writer)
    return owned


def compacted(broker: MemoryBroker, topic: str, number: int) -> Content:
    return {
        record.key: (record.value, dict(record.headers)) for record in broker.topics[topic, number]
    }


def without_progress(content: Content) -> Content:
    """Return the content without progress headers, which only the last level of a chunk has."""
    return {
        key: (said, {name: header for name, header in headers.items() if name not in TOLD})
        for key, (said, headers) in content.items()
    }


def decisions(broker: MemoryBroker, number: int) -> dict[tuple[str, bytes | None], object]:
    """Return the newest decision of each key, without its offset in the log."""
    found: dict[tuple[str, bytes | None], object] = {}
    for topic in (REORDER_EVENTS, PRICE_EVENTS):
        for key, (content, _) in compacted(broker, topic, number).items():
            assert content is not None
            try:
                event: object = decode_reorder(content).output
            except NotADecision:
                event = decode_price(content).output
            found[topic, key] = event
    return found


def told(owned: OwnedPartition) -> dict[str, object]:
    """Return a worker's complete data of a partition: progress, states, ring, open decisions."""
    return {
        "progress": owned.progress(),
        "states": {key: encode_state(owned.states[key]) for key in sorted(owned.states)},
        "ring": owned.partition.ring.identities(),
        "open": sorted(owned.open_keys),
        "as of": owned.as_of_us,
    }


def test_published_changelogs_equal_those_of_a_replay_in_one_chunk(case: Case) -> None:
    async def play() -> None:
        published, replayed = broker_of(case), broker_of(case)
        await publish(case, published)
        for number, end in case.ends.items():
            owned = await replay(replayed, number, end, size=end)

            for topic in CHANGELOGS:
                ours = without_progress(compacted(published, topic, number))
                assert ours == without_progress(compacted(replayed, topic, number))
            assert decisions(published, number) == decisions(replayed, number)
            for topic in (STOCK_LATE, STOCK_REJECTED):
                assert published.values(topic, number) == replayed.values(topic, number)
            rows = compacted(published, CHANGELOGS[1], number)
            assert len(rows) >= sum(len(owned.states[key].windows) for key in owned.states)
        everywhere = [(topic, number) for topic in OUTPUTS for number in case.ends]
        said = {topic for topic, number in everywhere if published.values(topic, number)}
        assert said >= {*OUTPUTS} - {PRICE_EVENTS}
        assert any(history.beats() for history in case.histories)
        assert any(list(history.expired()) for history in case.histories)

    asyncio.run(play())


@pytest.mark.parametrize("size", [1, 7])
def test_a_worker_restored_from_a_published_run_acts_like_one_that_replayed(
    case: Case, size: int
) -> None:
    async def play() -> None:
        published, replayed = broker_of(case), broker_of(case)
        await publish(case, published)
        for number, end in case.ends.items():
            theirs = await replay(replayed, number, end, size)
            ours = await restore(number, GENERATION, published)
            again = await restore(number, GENERATION, replayed)
            assert told(ours) == told(again) == told(theirs)
            assert ours.next_offset == end

            length = len(case.log.log[number])
            places = {topic: published.next_offset((topic, number)) for topic in OUTPUTS}
            others = {topic: replayed.next_offset((topic, number)) for topic in OUTPUTS}
            ours = await replay(published, number, length, size)
            theirs = await replay(replayed, number, length, size)

            assert told(ours) == told(theirs)
            for topic in OUTPUTS:
                said = later(published, topic, number, places[topic])
                assert said == later(replayed, topic, number, others[topic])

    asyncio.run(play())


def later(broker: MemoryBroker, topic: str, number: int, begin: int) -> list[object]:
    return [
        (record.key, record.value, record.headers)
        for record in broker.topics[topic, number]
        if record.offset >= begin
    ]


def test_an_interrupted_publication_is_refused_until_it_is_written_again(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publication, "STATES_AT_ONCE", 2)

    async def play() -> None:
        whole, counted = broker_of(case), Crashes()
        await publish(case, whole, counted)
        places = [at for at, effect in enumerate(counted.effects, 1) if effect != "begin"]
        for at in places[:: max(1, len(places) // 40)]:
            broker = broker_of(case)
            with pytest.raises(Crash):
                await publish(case, broker, Crashes(frozenset({at})))

            is_whole = [await is_taken_up(case, broker, number) for number in case.ends]
            assert is_whole == sorted(is_whole, reverse=True)  # partitions are published in order
            await publish(case, broker)
            for number in case.ends:
                for topic in CHANGELOGS:
                    assert compacted(broker, topic, number) == compacted(whole, topic, number)
                assert (await restore(number, GENERATION, broker)).next_offset == case.ends[number]

    asyncio.run(play())


def test_a_publication_writes_the_same_ring_start_as_a_worker(case: Case) -> None:
    async def play() -> None:
        broker = broker_of(case)
        await publish(case, broker)
        for history in case.histories:
            levels = broker.topics[CHANGELOGS[0], history.number]
            told = progress_in(levels[-1].headers)
            owned = await restore(history.number, GENERATION, broker)

            assert told == owned.progress()
        assert any(history.ring_from() > 0 for history in case.histories)

    asyncio.run(play())


class Watched(Publication):
    """Publication that records the number of window rows of each transaction."""

    def __init__(self, history: PartitionHistory, broker: Broker, topic_ids: TopicIds) -> None:
        super().__init__(history, broker, topic_ids)
        self.rows: list[int] = []

    @override
    async def _write_states(self, states: Iterable[KeyState], beats: Mapping[InvKey, Beat]) -> None:
        batch = list(states)
        self.rows.append(sum(len(state.windows) for state in batch))
        await super()._write_states(batch, beats)


def test_a_publication_limits_the_window_rows_of_each_transaction(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play() -> None:
        broker, history = broker_of(case), case.histories[0]
        of_a_key = [len(state.windows) for state in history.states()]
        most = max(of_a_key)
        monkeypatch.setattr(publication, "ROWS_AT_ONCE", most)

        ids = await broker.topic_ids(SOURCES)
        made = Watched(history, broker.writer(history.number), ids)
        await made.write()

        assert sum(made.rows) == sum(of_a_key) > 2 * most
        assert max(made.rows) < 2 * most

    asyncio.run(play())


async def is_taken_up(case: Case, broker: MemoryBroker, number: int) -> bool:
    """Return True if a worker restores from the published run, False if nothing was committed."""
    headers = [progress_in(record.headers) for record in broker.topics[CHANGELOGS[0], number]]
    progress = [found for found in headers if found is not None]
    if progress and progress[-1].next_offset == 0:
        with pytest.raises(LogMismatch, match="an incomplete published backfill"):
            await restore(number, GENERATION, broker)
        return False
    owned = await restore(number, GENERATION, broker)
    if owned.next_offset == 0:
        assert not owned.states
        return False
    assert owned.next_offset == case.ends[number]
    return True


def test_a_worker_that_starts_during_a_publication_fences_it(case: Case) -> None:
    async def play() -> None:
        broker, history = broker_of(case), case.histories[0]
        made = Publication(history, broker.writer(history.number), await broker.topic_ids(SOURCES))
        await made.write()

        broker.writer(history.number)

        with pytest.raises(Fenced):
            await made.write_progress()

    asyncio.run(play())


def test_a_partition_without_keys_publishes_no_progress(case: Case) -> None:
    async def play() -> None:
        broker = MemoryBroker()
        nothing = PartitionHistory(0, GENERATION, 5, (), case.histories[0].archive)
        made = Publication(nothing, broker.writer(0), await broker.topic_ids(SOURCES))

        await made.begin()
        await made.write()

        assert not await made.write_progress()
        assert (made.keys, made.transactions) == (0, 0)
        assert (await restore(0, GENERATION, broker)).next_offset == 0

    asyncio.run(play())

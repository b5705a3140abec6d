"""A snapshot shortens a restore. A damaged snapshot costs time and changes no result."""

import asyncio
import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdc.contracts.state import encode_state
from cdc.contracts.topics import ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG, STOCK_EVENTS
from streams.engine.loop import handle_chunk
from streams.engine.memory import MemoryBroker
from streams.engine.restore import restore
from streams.engine.snapshot import (
    Snapshot,
    SnapshotRefused,
    file_of,
    freeze,
    load,
    save,
    snapshot_of,
    write,
)
from streams.engine.store import OwnedPartition
from tests.streams.lives import GENERATION, PARTITION, Crashes, expected, live, source_of
from tests.streams.test_engine import Step, history, sold_history, steps


def lived(broker: MemoryBroker, size: int = 9) -> OwnedPartition:
    return asyncio.run(live(broker, Crashes(), itertools.repeat(size), iter(())))


def restored(broker: MemoryBroker, snapshot: Snapshot | None = None) -> OwnedPartition:
    return asyncio.run(restore(PARTITION, GENERATION, broker, snapshot))


def documents(owned: OwnedPartition) -> dict[str, bytes]:
    return {key: encode_state(state) for key, state in owned.published.items()}


def everything(owned: OwnedPartition) -> tuple[object, ...]:
    """Return all values that must be equal in two restores of one partition."""
    ring = owned.partition.ring
    return (
        documents(owned),
        {key: encode_state(state) for key, state in owned.partition.states.items()},
        owned.progress(),
        owned.open_keys,
        set(ring.identities()),
        owned.next_offset,
        len(owned.published),
    )


async def chunk_after_chunk(
    broker: MemoryBroker, sizes: list[int], snapshots: list[int], directory: Path
) -> None:
    """Run a worker that writes a snapshot after some of its chunks."""
    owned = await restore(PARTITION, GENERATION, broker, load(directory, PARTITION, GENERATION))
    writer = broker.writer(PARTITION)
    source, size = source_of(broker), itertools.cycle(sizes)
    for number in itertools.count():
        chunk = source[owned.next_offset :][: next(size)]
        if not chunk:
            return
        await handle_chunk(chunk, owned, writer)
        if number in snapshots:
            save(owned, directory)


@settings(deadline=None, max_examples=60)
@given(
    plan=steps,
    more=steps,
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    snapshots=st.lists(st.integers(0, 12), max_size=6),
)
def test_a_restore_from_a_snapshot_equals_one_from_the_changelogs(
    tmp_path_factory: pytest.TempPathFactory,
    plan: list[Step],
    more: list[Step],
    sizes: list[int],
    snapshots: list[int],
) -> None:
    directory = tmp_path_factory.mktemp("snapshots")
    broker = history([*plan, *more])
    whole = broker.topics[STOCK_EVENTS, PARTITION]

    broker.topics[STOCK_EVENTS, PARTITION] = whole[: len(plan)]
    asyncio.run(chunk_after_chunk(broker, sizes, snapshots, directory))
    broker.topics[STOCK_EVENTS, PARTITION] = whole
    asyncio.run(chunk_after_chunk(broker, sizes, snapshots, directory))

    warm = restored(broker, load(directory, PARTITION, GENERATION))
    cold = restored(broker)
    assert everything(warm)[0] == everything(cold)[0]
    if warm.next_offset == cold.next_offset:
        assert everything(warm) == everything(cold)
    assert documents(warm) == expected(source_of(broker)).states


def test_a_restore_from_a_current_snapshot_reads_no_changelog_record(tmp_path: Path) -> None:
    broker = sold_history(40)
    owned = lived(broker)
    save(owned, tmp_path)

    warm = restored(broker, load(tmp_path, PARTITION, GENERATION))

    assert warm.restored_records == 0
    assert everything(warm) == everything(restored(broker))
    assert restored(broker).restored_records > 0


def test_an_older_snapshot_is_followed_by_the_rest_of_the_changelogs(tmp_path: Path) -> None:
    broker = sold_history(40)
    source = broker.topics[STOCK_EVENTS, PARTITION]
    broker.topics[STOCK_EVENTS, PARTITION] = source[:20]
    save(lived(broker), tmp_path)
    broker.topics[STOCK_EVENTS, PARTITION] = source
    lived(broker)

    warm = restored(broker, load(tmp_path, PARTITION, GENERATION))

    assert 0 < warm.restored_records < restored(broker).restored_records
    assert everything(warm) == everything(restored(broker))


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def last_frame_gone(content: bytes) -> bytes:
    return content[: content.rindex(b"\x28\xb5\x2f\xfd") - 12]


def last_block_gone(content: bytes) -> bytes:
    at = content.index(b'["S1|A"]')
    return content[: at - 12]


def huge_length(content: bytes) -> bytes:
    head = content.index(b"\n") + 1
    return content[:head] + b"\x7f" + content[head + 1 :]


def flipped(content: bytes) -> bytes:
    middle = len(content) - 20
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (cut, "bytes"),
        (last_frame_gone, "the last block has keys and no documents"),
        (last_block_gone, "0 blocks, expected 1"),
        (flipped, "checksum"),
        (huge_length, "the frame at byte 41 is damaged"),
        (lambda _: b"", "not a snapshot"),
        (lambda _: b"something else\n" * 9, "not a snapshot"),
        (lambda content: content[:35], "not readable"),
        (lambda content: content[:29], "not readable"),
    ],
)
def test_a_damaged_file_is_refused_with_its_reason(
    tmp_path: Path, damage: Callable[[bytes], bytes], reason: str
) -> None:
    save(lived(sold_history(9)), tmp_path)
    path = file_of(tmp_path, PARTITION, GENERATION)
    path.write_bytes(damage(path.read_bytes()))

    with pytest.raises(SnapshotRefused, match=reason):
        load(tmp_path, PARTITION, GENERATION)


def test_a_snapshot_file_of_another_partition_is_refused_after_a_rename(tmp_path: Path) -> None:
    path = save(lived(sold_history(9)), tmp_path)

    assert load(tmp_path, PARTITION + 1, GENERATION) is None
    assert load(tmp_path, PARTITION, GENERATION + 1) is None
    path.rename(file_of(tmp_path, PARTITION + 1, GENERATION))
    with pytest.raises(SnapshotRefused, match="partition is 0, expected 1"):
        load(tmp_path, PARTITION + 1, GENERATION)


def taken(broker: MemoryBroker, directory: Path) -> Snapshot:
    save(lived(broker), directory)
    snapshot = load(directory, PARTITION, GENERATION)
    assert snapshot is not None
    return snapshot


def test_an_unacknowledged_chunk_is_in_no_snapshot(tmp_path: Path) -> None:
    broker = sold_history(3)

    async def fail() -> OwnedPartition:
        owned = await restore(PARTITION, GENERATION, broker)
        broker.writer(PARTITION)
        with pytest.raises(KeyError):
            await handle_chunk(source_of(broker), owned, Unreachable())
        return owned

    owned = asyncio.run(fail())

    with pytest.raises(RuntimeError, match="a chunk is not acknowledged"):
        save(owned, tmp_path)
    assert list(tmp_path.iterdir()) == []


class Unreachable:
    """Broker that accepts nothing."""

    async def acknowledged(self, partition: int, stages: object) -> dict[str, int]:
        raise KeyError(partition, stages)


def test_chunks_folded_while_a_snapshot_is_written_are_not_in_it(tmp_path: Path) -> None:
    broker = sold_history(120)
    source = source_of(broker)

    async def both() -> tuple[OwnedPartition, dict[str, bytes]]:
        owned = await restore(PARTITION, GENERATION, broker)
        writer = broker.writer(PARTITION)
        await handle_chunk(source[:60], owned, writer)
        then = documents(owned)
        snapshot, blocks = snapshot_of(owned), freeze(owned)
        await handle_chunk(source[60:90], owned, writer)
        for _keys in blocks:
            pass
        await handle_chunk(source[90:], owned, writer)
        write(snapshot, tmp_path)
        return owned, then

    owned, then = asyncio.run(both())
    snapshot = load(tmp_path, PARTITION, GENERATION)
    assert snapshot is not None

    found = {key: snapshot.cold.find(key) for key in snapshot.cold}
    assert {key: encode_state(state) for key, state in found.items() if state} == then
    assert documents(owned) == expected(source).states
    assert everything(restored(broker, snapshot)) == everything(restored(broker))


def test_an_interrupted_freeze_of_states_loses_nothing(tmp_path: Path) -> None:
    broker = history([("sale", n % 3, 1, 1_000_000) for n in range(9)])
    owned = lived(broker)
    wanted = documents(owned)

    freeze(owned)
    assert documents(owned) == wanted
    save(owned, tmp_path)

    assert documents(owned) == wanted
    assert documents(restored(broker, load(tmp_path, PARTITION, GENERATION))) == wanted


def test_states_at_rest_leave_memory_and_can_be_read_again(tmp_path: Path) -> None:
    owned = lived(history([("sale", n % 3, 1, 1_000_000) for n in range(9)]))
    wanted = documents(owned)

    save(owned, tmp_path)
    save(owned, tmp_path)

    assert owned.published.in_use() == owned.states.in_use() == []
    assert documents(owned) == wanted
    assert len(owned.published) == len(wanted)


def test_a_full_disk_leaves_the_last_snapshot_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owned = lived(sold_history(9))
    path = save(owned, tmp_path)
    before = path.read_bytes()

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        save(owned, tmp_path)

    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


def test_every_snapshot_has_the_offsets_of_both_changelogs(tmp_path: Path) -> None:
    snapshot = taken(sold_history(9), tmp_path)

    assert snapshot.positions.keys() == {ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG}

"""Faults of stored data: topics, the consumer group, snapshots, the archive, the disk."""

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException

from bench.faults.fault import Expected, Fault, is_well, mentions, never_broken
from bench.faults.stack_under_test import ConditionTimeout, StackUnderTest, send, wait_for
from cdc.contracts.topics import APP_ID, ON_HAND_CHANGELOG, STOCK_EVENTS

FILL: Final = "fill disk"
_WORKERS: Final = ("worker-1", "worker-2")
_GROUP_S: Final = 60.0
_COMMAND: Final = re.compile(r"`(inventory [^`]+)`")
_PIECES: Final = (64 << 20, 1 << 20, 1 << 12)


def state_faults() -> Iterator[Fault]:
    """Yield faults that damage the workers' snapshots, their consumer group or the archive."""
    at_work = Expected(never_broken, is_well)
    yield Fault("damage snapshots", _damage_snapshots, lambda _: at_work)
    yield Fault("remove group", _remove_group, lambda _: Expected(_halts, mentions(*_WORKERS)))
    yield Fault(
        "damage archive",
        _damage_archive,
        lambda _: Expected(_archive_damaged, is_well),
        heals=False,
        repairs_of=_archive_repairs,
    )


def topic_faults() -> Iterator[Fault]:
    """Yield one fault that deletes a changelog, and one that deletes `stock.events`."""
    yield _remove_topic("changelog", ON_HAND_CHANGELOG)
    yield _remove_topic("stock.events", STOCK_EVENTS)


def disk_fault() -> Fault:
    """Return the fault that fills the disk of the home."""
    return Fault(
        FILL,
        _fill,
        lambda _: Expected(_disk_full, mentions("disk", "No space left")),
        heals=False,
        undo=lambda stack: _filler(stack).unlink(missing_ok=True),
    )


def _remove_topic(label: str, name: str) -> Fault:
    def prepare(stack: StackUnderTest) -> Expected:
        known = stack.topic_id(name)
        return Expected(
            lambda now: now.topic_id(name) in (None, known) or _halts(now), mentions(name, "topic")
        )

    def cause(stack: StackUnderTest) -> None:
        admin = stack.admin  # keep the client: without it, the future fails
        admin.delete_topics([name])[name].result()

    return Fault(f"remove topic {label}", cause, prepare, heals=False)


def _halts(stack: StackUnderTest) -> bool:
    return any(stack.entry(name).get("state") != "running" for name in _WORKERS)


def _remove_group(stack: StackUnderTest) -> None:
    """Delete the workers' group while both workers are suspended.

    The broker deletes only a group without members, so the sessions of both workers have to time
    out first.
    """
    pids = [stack.pid(name) for name in _WORKERS]
    admin = stack.admin

    def deleted() -> bool:
        try:
            admin.delete_consumer_groups([APP_ID])[APP_ID].result()
        except KafkaException:
            return False
        return True

    for pid in pids:
        send(pid, signal.SIGSTOP)
    try:
        wait_for(deleted, f"group {APP_ID} without members", _GROUP_S)
    finally:
        for pid in pids:
            send(pid, signal.SIGCONT)


def _flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)


def _damage_snapshots(stack: StackUnderTest) -> None:
    """Flip a byte of every snapshot. A worker that starts afterwards must discard its snapshots."""
    folder, logs = stack.home / "workers", stack.home / "logs"
    wait_for(lambda: list(folder.rglob("*.snapshot")), "a snapshot")
    before = _discarded(logs)
    stack.inventory("workers", "stop", "worker-1")
    for file in folder.rglob("*.snapshot"):
        _flip(file)
    done = stack.inventory("workers", "start", "worker-1")
    if done.code:
        problem = f"inventory workers start worker-1 ended with {done.code}: {done.text[-300:]}"
        raise ConditionTimeout(problem)
    wait_for(lambda: _discarded(logs) > before, "a log line about a discarded snapshot")


def _discarded(logs: Path) -> int:
    files = logs.glob("worker-*.log")
    return sum(file.read_bytes().count(b'"snapshot discarded"') for file in files)


def _damage_archive(stack: StackUnderTest) -> None:
    """Run a backfill, so that the archiver writes a file. Then flip a byte of the newest file."""
    stack.inventory("backfill", "run")
    folder = stack.home / "archive"
    files: list[Path] = wait_for(lambda: sorted(folder.rglob("*.parquet")), f"a file in {folder}")
    _flip(max(files, key=lambda file: file.stat().st_mtime))
    if not _archive_damaged(stack):
        problem = "backfill run read a damaged archive without an error"
        raise ConditionTimeout(problem)


def _archive_damaged(stack: StackUnderTest) -> bool:
    return stack.inventory("backfill", "run").code != 0


def _archive_repairs(stack: StackUnderTest) -> list[str]:
    """Run a backfill over the damaged file. Return the last command in its message, if any."""
    return _COMMAND.findall(stack.inventory("backfill", "run").text)[-1:]


def _filler(stack: StackUnderTest) -> Path:
    """Return the path of the file that fills the disk.

    It lies beside the home, because the repair `inventory move` must not move it to the new disk.
    """
    return stack.home.parent / "filler"


def _fill(stack: StackUnderTest) -> None:
    with _filler(stack).open("wb") as file:
        for size in _PIECES:
            while _extended(file.fileno(), size):
                pass


def _extended(descriptor: int, size: int) -> bool:
    try:
        os.posix_fallocate(descriptor, os.fstat(descriptor).st_size, size)
    except OSError:
        return False
    return True


def _disk_full(stack: StackUnderTest) -> bool:
    test = stack.home / ".space"
    try:
        test.write_bytes(b"\0" * (1 << 20))
    except OSError:
        return True
    finally:
        test.unlink(missing_ok=True)
    return False

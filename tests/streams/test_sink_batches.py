"""A sink's batches: their size, their order, and the end of a batch that can't be written."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from signal import SIGTERM
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from cdc.contracts.versions import UnreadableRecord
from streams.settings import SinkSettings
from streams.sinks import actuator, process, projector
from streams.sinks.active import RevisionSwitched
from streams.sinks.positions import Connection
from streams.sinks.writer import Write, Writer, writing

HANGS_S = 60.0
UNREADABLE = "unreadable"


class Source:
    """A source of these batches. `asked` lists the maximum number of records of each read."""

    def __init__(self, *batches: str) -> None:
        self.asked: list[int] = []
        self.starts = 0
        self._batches = list(batches)

    def start(self, *_: object) -> None:
        self.starts += 1

    def batch(self, records: int, _timeout_s: float) -> Sequence[Any]:
        self.asked.append(records)
        return self._batches.pop(0) if self._batches else ""


class Sink:
    """A sink whose batches are texts. `log` has what it did, in order.

    `is_read` has an event for each batch, which is set when the batch is decoded.
    """

    name = "sink"
    most_records = 1_000

    def __init__(self, write: Callable[[str], None] = lambda _batch: None) -> None:
        self.log: list[str] = []
        self.is_read: defaultdict[str, Event] = defaultdict(Event)
        self._write = write

    def topics(self, _connection: object) -> Sequence[str]:
        return ("topic",)

    def prepare(self, batch: Any) -> Write:
        if batch == UNREADABLE:
            raise UnreadableRecord(batch)
        self.log.append(f"read {batch}")
        self.is_read[batch].set()

        def write(_connection: Connection) -> None:
            self._write(batch)
            self.log.append(f"wrote {batch}")

        return write


class Postgres:
    """A connection for which a transaction is nothing. `beats` is the number of heartbeats."""

    beats = 0

    @contextmanager
    def transaction(self) -> Iterator[None]:
        yield

    def execute(self, statement: str, _parameters: object) -> list[tuple[object, ...]]:
        self.beats += "service_heartbeat" in statement
        return []


def running(sink: Any, settings: SinkSettings | None = None) -> process._Process:
    """Return a process that reads its topics and has just written its heartbeat."""
    found = process._Process(settings or SinkSettings(), sink)
    found._beat_at_s = time.monotonic() + HANGS_S
    found._topics = ("topic",)
    return found


@contextmanager
def loop(sink: Any, source: Any, postgres: Any = None) -> Iterator[SimpleNamespace]:
    """Yield `once()`, one step of the process, and `finish()`, the end of its last write.

    After `due()`, the next step writes a heartbeat. `stop()` is SIGTERM.
    """
    postgres = postgres or Postgres()
    found = running(sink)
    with writing(postgres) as writer:
        yield SimpleNamespace(
            once=lambda: found._process_once(source, postgres, writer),
            finish=lambda: found._finish(source, postgres, writer),
            due=lambda: setattr(found, "_beat_at_s", 0.0),
            stop=lambda: found._stop(SIGTERM, None),
            records=lambda: found._records,
        )


@pytest.mark.parametrize(
    ("module", "setting", "most"),
    [
        (actuator, 20_000, 1_000),
        (actuator, 100, 100),
        (projector, 20_000, 20_000),
    ],
)
def test_the_actuator_holds_the_action_chain_for_a_thousand_decisions_at_most(
    module: Any, setting: int, most: int
) -> None:
    settings = SinkSettings(sink_batch_records=setting)
    source: Any = Source()
    unused: Any = None

    running(module.create(settings), settings)._process_once(source, unused, unused)

    assert source.asked == [most]


def test_a_batch_is_read_while_the_former_one_is_written() -> None:
    def write(batch: str) -> None:
        assert batch != "A" or sink.is_read["B"].wait(HANGS_S)

    sink = Sink(write)
    with loop(sink, Source("A", "B")) as step:
        step.once()
        step.once()
        step.finish()

    assert sink.log == ["read A", "read B", "wrote A", "wrote B"]
    assert step.records() == 2


def test_a_batch_read_before_a_switch_was_noticed_is_dropped_too() -> None:
    # The topics are the former ones again if there were two switches.
    def write(batch: str) -> None:
        if batch == "A":
            raise RevisionSwitched(batch)

    sink, source = Sink(write), Source("A", "B", "C")
    with loop(sink, source) as step:
        for _ in "ABC":
            step.once()
        step.finish()

    assert sink.log == ["read A", "read B", "read C", "wrote C"]
    assert (source.starts, step.records()) == (1, 1)


def test_a_due_heartbeat_waits_for_a_write_after_the_next_batch_is_read() -> None:
    def write(batch: str) -> None:
        assert batch != "A" or sink.is_read["B"].wait(HANGS_S)
        sink.log.append(f"beats {postgres.beats}")

    sink, postgres = Sink(write), Postgres()
    with loop(sink, Source("A", "B"), postgres=postgres) as step:
        step.once()
        step.due()
        step.once()
        step.finish()

    assert sink.log == ["read A", "read B", "beats 0", "wrote A", "beats 1", "wrote B"]


def test_an_unreadable_record_of_former_topics_is_dropped_with_its_batch() -> None:
    def write(batch: str) -> None:
        raise RevisionSwitched(batch)

    sink, source = Sink(write), Source("A", UNREADABLE)
    with loop(sink, source) as step:
        step.once()
        step.once()

    assert (source.starts, step.records()) == (1, 0)


def test_an_unreadable_record_ends_the_process_after_the_former_batch_is_written() -> None:
    sink = Sink()
    with loop(sink, Source("A", UNREADABLE)) as step:
        step.once()
        with pytest.raises(UnreadableRecord):
            step.once()

    assert (sink.log, step.records()) == (["read A", "wrote A"], 1)


def test_a_sink_that_stops_begins_no_further_write() -> None:
    sink = Sink()
    with loop(sink, Source("A", "B")) as step:
        step.once()
        step.stop()
        step.once()
        step.finish()

    assert sorted(sink.log) == ["read A", "read B", "wrote A"]


def test_a_failed_write_ends_the_process_before_the_next_batch_is_written() -> None:
    def write(batch: str) -> None:
        raise OSError(batch)

    sink = Sink(write)
    with loop(sink, Source("A", "B")) as step:
        step.once()
        with pytest.raises(OSError, match="A"):
            step.once()

    assert sink.log == ["read A", "read B"]


def test_a_writer_without_a_batch_has_nothing_to_wait_for() -> None:
    postgres: Any = Postgres()
    with writing(postgres) as writer:
        assert not writer.wait()
        assert isinstance(writer, Writer)

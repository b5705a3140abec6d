"""The records that a sink writes in one transaction, and a batch that it must read again."""

import time
from collections.abc import Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from streams.settings import SinkSettings
from streams.sinks import actuator, process, projector
from streams.sinks.active import RevisionSwitched


class Source:
    """A source of `records`. `asked` lists the maximum number of records of each read."""

    def __init__(self, records: Sequence[Any] = ()) -> None:
        self.asked: list[int] = []
        self.starts = 0
        self._records = records

    def start(self, *_: object) -> None:
        self.starts += 1

    def stop(self) -> None:
        pass

    def batch(self, records: int, _timeout_s: float) -> Sequence[Any]:
        self.asked.append(records)
        return self._records


@pytest.mark.parametrize(
    ("module", "setting", "most"),
    [
        (actuator, 20_000, 1_000),
        (actuator, 100, 100),
        (projector, 20_000, 20_000),
    ],
)
def test_the_actuator_writes_at_most_a_thousand_records_in_one_transaction(
    module: Any, setting: int, most: int
) -> None:
    settings = SinkSettings(sink_batch_records=setting)
    running = process._Process(settings, module.create(settings))
    running._beat_at_s = time.monotonic()
    source: Any = Source()
    connection: Any = None

    running._process_once(source, connection)

    assert source.asked == [most]


def test_a_batch_is_read_again_even_if_two_switches_restored_the_former_topics() -> None:
    def refuse(*_: object) -> None:
        raise RevisionSwitched

    sink: Any = SimpleNamespace(
        name="sink", most_records=10, topics=lambda _connection: ("topic",), write=refuse
    )
    connection: Any = SimpleNamespace(transaction=nullcontext, execute=lambda *_: ())
    broker: Any = SimpleNamespace(describe_topics=lambda *_, **__: {})
    running = process._Process(SinkSettings(), sink)
    running._admin = broker
    running._beat_at_s, running._topics = time.monotonic(), ("topic",)
    source: Any = Source(["record"])

    running._process_once(source, connection)

    assert (source.starts, running._records) == (1, 0)

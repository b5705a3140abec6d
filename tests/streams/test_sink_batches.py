"""The records that a sink writes in one transaction."""

import time
from collections.abc import Sequence
from typing import Any

import pytest

from streams.settings import SinkSettings
from streams.sinks import actuator, process, projector


class Source:
    """A source without records. `asked` lists the maximum number of records of each read."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def batch(self, records: int, _timeout_s: float) -> Sequence[Any]:
        self.asked.append(records)
        return ()


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
    running = process._Process(settings, module.create(settings))
    running._beat_at_s = time.monotonic()
    source: Any = Source()
    connection: Any = None

    running._process_once(source, connection)

    assert source.asked == [most]

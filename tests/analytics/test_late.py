"""The source record of each late sale is read again, by its offset in the source log."""

from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from analytics.verification import late
from cdc.settings import Connections


@dataclass
class Message:
    at: int
    is_end: bool = False

    def offset(self) -> int:
        return self.at

    def error(self) -> object:
        return "end" if self.is_end else None

    def key(self) -> bytes:
        return b"k"

    def value(self) -> bytes:
        return b"v"


def offsets_found(
    monkeypatch: pytest.MonkeyPatch, batches: list[list[Message]], wanted: list[int]
) -> list[Any]:
    given: Iterator[list[Message]] = iter(batches)
    client = SimpleNamespace(assign=lambda _places: None, close=lambda: None)
    monkeypatch.setattr("analytics.kafka.consumer", lambda _bootstrap: client)
    monkeypatch.setattr("analytics.kafka.records", lambda _client: next(given))
    monkeypatch.setattr(late, "decode", lambda _key, _value, *, offset: offset)
    return list(late._source_records(Connections(), 0, wanted))


def test_each_source_record_of_a_late_sale_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [[Message(3), Message(4)], [], [Message(5), Message(6), Message(7, is_end=True)]]

    assert offsets_found(monkeypatch, batches, [3, 6]) == [3, 6]


@pytest.mark.parametrize("found", [Message(5), Message(4, is_end=True)])
def test_a_missing_source_record_of_a_late_sale_raises_an_error(
    monkeypatch: pytest.MonkeyPatch, found: Message
) -> None:
    with pytest.raises(
        late.LateUnexplained, match="@4: the topic lacks the record that a late record names"
    ):
        offsets_found(monkeypatch, [[Message(3), found]], [3, 4])

"""The archiver notices that its topic was deleted and created again while it runs."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from analytics import kafka
from analytics.archive import follow
from analytics.archive.manifest import BrokenArchive, Manifest
from analytics.archive.source import write_source_id
from cdc.contracts.topics import STOCK_EVENTS
from cdc.settings import Connections
from tests.analytics.histories import archived, generate


def answers(*found: object) -> Any:
    """Return a function whose nth call returns the nth of `found`, or raises it."""
    rest: Iterator[object] = iter(found)

    def answer(*_: object, **__: object) -> object:
        found_next = next(rest)
        if isinstance(found_next, Exception):
            raise found_next
        return found_next

    return answer


def test_records_of_a_recreated_topic_are_not_archived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new topic has more records than the former one had, so no read fails."""
    settings = Connections(home=tmp_path, partitions=3)
    archived(settings.archive_dir, generate(seed=3))
    write_source_id(settings.archive_dir, "first")
    end = Manifest(settings.archive_dir).next_offset(0)
    of_another_history = SimpleNamespace(
        error=lambda: None,
        partition=lambda: 0,
        offset=lambda: end,
        timestamp=lambda: (1, 0),
        key=lambda: b"L|S",
        value=lambda: b"another",
    )
    unreachable = KafkaException(KafkaError(KafkaError._TIMED_OUT))
    monkeypatch.setattr(follow, "_CHECK_S", 0.0)
    monkeypatch.setattr(follow, "checked_starts", lambda *_: dict.fromkeys(range(3), end))
    monkeypatch.setattr(
        kafka, "consumer", lambda *_, **__: SimpleNamespace(assign=list, close=lambda: None)
    )
    monkeypatch.setattr(kafka, "admin_client", lambda _: None)
    first, second = {STOCK_EVENTS: "first"}, {STOCK_EVENTS: "second"}
    monkeypatch.setattr(follow, "topic_ids", answers(first, unreachable, second))
    reads = iter(([], [], [of_another_history]))
    monkeypatch.setattr(kafka, "records", lambda _: next(reads))
    rounds = iter((True, True, True, False))

    with pytest.raises(BrokenArchive, match="the topic was deleted and recreated"):
        follow.follow(settings, should_continue=lambda: next(rounds), progress=lambda _: None)

    assert Manifest(settings.archive_dir).next_offset(0) == end

"""A wait for an archive that is behind reports progress, and ends if there is none."""

from collections.abc import Generator, Mapping
from contextlib import nullcontext
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException
from typing_extensions import override

from analytics import kafka
from analytics.archive import complete
from analytics.archive.complete import ArchiveBehind, MissingRecords, archive_until
from analytics.archive.manifest import Manifest
from analytics.archive.names import LOCK
from analytics.backfill.ends import history
from analytics.locks import exclusive
from cdc.settings import Connections
from tests.analytics.histories import archived, generate


class Waiting:
    """A wait for 100 records of partition 0 and 50 of partition 1, with a clock of the test."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.reported: list[tuple[int, int]] = []
        self.missing = MissingRecords(
            Path("archive"),
            {0: 100, 1: 50},
            600.0,
            lambda archived, missing: self.reported.append((archived, missing)),
            clock=lambda: self.now_s,
        )

    def at(self, now_s: float, first: int, second: int) -> bool:
        self.now_s = now_s
        return self.missing.none_left({0: first, 1: second, 2: 7})


def test_progress_counts_the_records_that_were_missing() -> None:
    waiting = Waiting()

    assert [waiting.at(0, 40, 50), waiting.at(1, 40, 50), waiting.at(2, 90, 60)] == [False] * 3
    assert waiting.at(3, 130, 60)
    assert waiting.reported == [(50, 60), (60, 60)]


def test_the_archive_wait_may_exceed_its_timeout_while_records_arrive() -> None:
    waiting = Waiting()

    assert not any(waiting.at(500.0 * step, step, 50) for step in range(100))
    assert waiting.at(50_000.0, 100, 50)


def test_the_archive_wait_times_out_and_names_the_missing_records() -> None:
    waiting = Waiting()
    waiting.at(0, 10, 50)
    waiting.at(599, 20, 50)
    waiting.at(1198, 20, 50)

    with pytest.raises(ArchiveBehind) as refused:
        waiting.at(1199, 20, 50)

    assert refused.value.problem == (
        "archive: no record was archived for 600 s; missing by partition: {0: 80}"
    )
    assert refused.value.kept == "the archived records are kept, nothing was computed"


def test_the_archive_wait_continues_while_an_emptied_archive_fills_again() -> None:
    waiting = Waiting()
    waiting.at(0, 90, 50)

    assert not any(waiting.at(500.0 * step, step, 0) for step in range(1, 50))
    assert waiting.at(25_000.0, 100, 50)
    assert waiting.reported[0] == (0, 149)
    assert waiting.reported[-1] == (149, 149)


def test_a_complete_archive_reports_nothing() -> None:
    waiting = Waiting()

    assert waiting.at(0, 100, 50)
    assert waiting.reported == []


class MarkersOnly(kafka.Tail):
    """A reader of a topic that has no record after the archived ones."""

    @override
    def read_until(
        self, ends: Mapping[int, int], *, deadline: float | None = None
    ) -> Generator[object, None, None]:
        assert deadline is None
        self.next_offsets.update(ends)
        yield from ()


@pytest.mark.parametrize("is_service_running", [True, False])
def test_the_archive_wait_skips_offsets_of_transaction_markers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_service_running: bool
) -> None:
    """The partition ends with the marker of a transaction, which is no record."""
    settings = Connections(home=tmp_path)
    archived(settings.archive_dir, generate(seed=3))
    manifest = Manifest(settings.archive_dir)
    ends = {number: manifest.next_offset(number) + 2 for number in range(3)}
    reported: list[tuple[int, int]] = []
    monkeypatch.setattr(complete, "_READ_AFTER_S", 0.0)
    monkeypatch.setattr(complete, "refuse_other_source", lambda *_: None)
    monkeypatch.setattr(complete, "checked_starts", lambda *_: {})
    monkeypatch.setattr(kafka, "topic_id", lambda *_: "the same")
    monkeypatch.setattr(kafka, "Tail", MarkersOnly)

    with exclusive(settings.archive_dir / LOCK) if is_service_running else nullcontext():
        found = archive_until(
            settings, ends, timeout_s=1.0, report=lambda *counts: reported.append(counts)
        )

    assert found.all_files() == manifest.all_files()
    assert reported == [(6, 6)]
    assert history(settings, ends, runs=tmp_path)[1] == {
        number: end - 2 for number, end in ends.items()
    }


def test_an_unreachable_broker_does_not_end_the_archive_wait_before_its_timeout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Connections(home=tmp_path)
    archived(settings.archive_dir, generate(seed=3))
    ends = {0: Manifest(settings.archive_dir).next_offset(0) + 2}

    def silent(*_given: object) -> str:
        raise KafkaException(KafkaError(KafkaError._TRANSPORT))

    monkeypatch.setattr(complete, "_READ_AFTER_S", 0.0)
    monkeypatch.setattr(kafka, "topic_id", silent)

    with exclusive(settings.archive_dir / LOCK), pytest.raises(ArchiveBehind):
        archive_until(settings, ends, timeout_s=1.0)

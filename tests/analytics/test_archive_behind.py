"""Waiting for an archive that is behind: progress, and the end of a wait without any."""

from pathlib import Path

import pytest

from analytics.archive.complete import ArchiveBehind, MissingRecords


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


def test_a_long_tail_takes_longer_than_the_limit_without_progress() -> None:
    waiting = Waiting()

    assert not any(waiting.at(500.0 * step, step, 50) for step in range(100))
    assert waiting.at(50_000.0, 100, 50)


def test_without_a_new_record_the_wait_ends_and_names_what_is_missing() -> None:
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


def test_an_archive_that_begins_again_is_waited_for_while_records_arrive() -> None:
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

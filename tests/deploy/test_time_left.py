"""Progress lines of long commands state the time left."""

import pytest

from deploy.cli import backfill
from deploy.revisions.progress import CatchingUp
from deploy.time_left import TimeLeft


@pytest.mark.parametrize(
    ("done", "now_s", "told"),
    [
        (2, 20.0, ""),
        (3, 29.0, ", about 9 s left"),
        (3, 120.0, ", about 1 min 40 s left"),
        (4, 40.0, ""),
    ],
)
def test_the_time_left_follows_the_rate_since_the_first_report(
    done: int, now_s: float, told: str
) -> None:
    left = TimeLeft()
    assert left.text(2, 4, 20.0) == ""

    assert left.text(done, 4, now_s) == told


def test_a_run_prints_the_time_left_after_each_unit_but_the_first_and_the_last(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    times = iter([100.0, 110.0, 120.0])
    monkeypatch.setattr("deploy.cli.backfill.time.monotonic", lambda: next(times))
    show = backfill.unit_progress()

    for done in (2, 3, 4):
        show(done, 4, f"unit-{done}")

    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "2 of 4 units: unit-2",
        "3 of 4 units: unit-3, about 10 s left",
        "4 of 4 units: unit-4",
    ]


def test_a_revision_that_catches_up_names_the_records_and_the_time_left() -> None:
    line = CatchingUp(3)

    assert line.line(5_000, 10.0) == "logic revision 3: 5,000 records behind"
    assert line.line(5_200, 12.0) == "logic revision 3: 5,200 records behind"
    assert line.line(1_000, 50.0) == "logic revision 3: 1,000 records behind, about 10 s left"

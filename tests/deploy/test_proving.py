"""The nightly proof: its hour, its catch-up after a downtime, one child at a time."""

import sys
import time
from pathlib import Path

import pytest
from pydantic import ValidationError

from deploy.proving import __main__ as service
from deploy.proving.schedule import is_due, newest_moment_s
from deploy.proving.settings import ProofSettings

HOUR = 3
AT_THREE = time.mktime((2026, 3, 2, HOUR, 0, 0, 0, 0, -1))
DAY_BEFORE = time.mktime((2026, 3, 1, HOUR, 0, 0, 0, 0, -1))
OVER_A_MONTH = time.mktime((2026, 2, 28, HOUR, 0, 0, 0, 0, -1))


def test_a_proof_is_due_from_its_hour_on() -> None:
    assert newest_moment_s(AT_THREE, HOUR) == AT_THREE
    assert newest_moment_s(AT_THREE - 1, HOUR) == DAY_BEFORE
    assert newest_moment_s(DAY_BEFORE - 1, HOUR) == OVER_A_MONTH

    assert not is_due(AT_THREE - 1, HOUR, DAY_BEFORE)
    assert is_due(AT_THREE, HOUR, DAY_BEFORE)
    assert not is_due(AT_THREE, HOUR, AT_THREE)


def test_a_missed_proof_is_due_at_any_hour() -> None:
    afternoon = AT_THREE + 12 * 3600

    assert is_due(afternoon, HOUR, AT_THREE - 1)
    assert not is_due(afternoon, HOUR, AT_THREE + 60)


def test_an_hour_that_the_clock_shows_twice_or_never_has_one_proof_a_day(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    days: dict[int, list[str]] = {}
    hours = 24 * 7
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "EST5EDT,M3.2.0,M11.1.0")
        time.tzset()
        for month, day, hour in ((10, 30, 1), (3, 6, 2)):
            first_s = last_s = time.mktime((2026, month, day, 0, 0, 0, 0, 0, -1))
            for now_s in (first_s + 3600 * n for n in range(hours)):
                if is_due(now_s, hour, last_s):
                    last_s = now_s
                    days.setdefault(month, []).append(time.strftime("%d %H", time.localtime(now_s)))
    time.tzset()

    assert days[10] == [f"{day} 01" for day in ("30", "31", "01", "02", "03", "04", "05")]
    assert days[3] == ["06 02", "07 02", "08 03", "09 02", "10 02", "11 02", "12 02"]


@pytest.mark.parametrize(("text", "hour"), [("", None), ("0", 0), ("23", 23)])
def test_an_empty_hour_turns_proofs_off(
    monkeypatch: pytest.MonkeyPatch, text: str, hour: int | None
) -> None:
    assert ProofSettings().proof_hour == HOUR
    monkeypatch.setenv("INVENTORY_PROOF_HOUR", text)
    assert ProofSettings().proof_hour == hour


@pytest.mark.parametrize("text", ["-1", "24", "three"])
def test_an_invalid_proof_hour_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("INVENTORY_PROOF_HOUR", text)
    with pytest.raises(ValidationError):
        ProofSettings()


def command(tmp_path: Path, exit_code: int) -> tuple[str, ...]:
    """Return a command that leaves a line in a file and ends."""
    text = f"open({str(tmp_path / 'started')!r}, 'a').write('x'); raise SystemExit({exit_code})"
    return sys.executable, "-c", text


def started(tmp_path: Path) -> int:
    path = tmp_path / "started"
    return len(path.read_text()) if path.exists() else 0


def finish(prover: service.Prover, now_s: float) -> None:
    """Step the prover until its child has ended."""
    deadline = time.monotonic() + 60
    while prover.detail["proving"]:
        assert time.monotonic() < deadline, "the child did not end within 60 s"
        prover.step(now_s)
        time.sleep(0.01)


def test_a_proof_that_was_not_comparable_is_tried_again_after_15_minutes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "newest_proof_s", lambda: DAY_BEFORE)
    prover = service.Prover(HOUR, command(tmp_path, 2))

    prover.step(AT_THREE)
    assert prover.detail == {"hour": HOUR, "last_us": DAY_BEFORE * 1_000_000, "proving": True}
    finish(prover, AT_THREE)
    prover.step(AT_THREE + 899)
    assert not prover.detail["proving"]
    prover.step(AT_THREE + 900)
    finish(prover, AT_THREE + 900)

    assert started(tmp_path) == 2


@pytest.mark.parametrize(("hour", "last_s"), [(None, 0.0), (HOUR, AT_THREE), (HOUR, None)])
def test_nothing_starts_when_off_or_proven_or_without_a_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hour: int | None, last_s: float | None
) -> None:
    monkeypatch.setattr(service, "newest_proof_s", lambda: last_s)
    prover = service.Prover(hour, command(tmp_path, 0))

    prover.step(AT_THREE)

    assert not prover.detail["proving"]
    assert started(tmp_path) == 0


def test_the_end_of_the_service_ends_its_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "newest_proof_s", lambda: DAY_BEFORE)
    waiting = (sys.executable, "-c", "import time; time.sleep(600)")
    prover = service.Prover(HOUR, waiting)
    prover.step(AT_THREE)

    prover.end()
    prover.step(AT_THREE)

    assert not prover.detail["proving"]

"""A load writes its rate of lines each second, for example 1 or 6,000, evenly spread."""

from types import SimpleNamespace

import pytest

from bench import load


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Replace the clock: a sleep only advances it."""
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(load, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))
    return now


@pytest.mark.parametrize("rate", [1, 9, 50, 150, 1_000, 6_000])
def test_a_load_spreads_the_lines_of_its_rate_evenly_over_each_second(
    rate: int, clock: list[float]
) -> None:
    batch = load.batch_of(rate)

    due = list(load.planned(rate, 1.0, batch))

    assert rate * 0.9 <= len(due) * batch <= rate
    assert due == [number * batch / rate for number in range(len(due))]
    assert clock[0] == due[-1] >= 1.0 - batch / rate - 0.1

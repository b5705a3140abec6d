"""The report of `inventory bench rebalance`."""

from typing import Any, Self, cast

import pytest

from bench import rebalance
from bench.rebalance import Report, Stale, Step
from bench.watch import BenchFailed


class NoSales:
    """A seller that Postgres refuses."""

    def __init__(self, _settings: Any) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    def delays(self, _since: float, _until: float, _timeout_s: float) -> list[float]:
        return []


def test_a_step_without_a_sale_fails_the_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebalance, "Staleness", NoSales)
    monkeypatch.setattr(rebalance, "QUIET_S", 0.0)
    steps = [Step("stop of one", lambda: None)]

    with pytest.raises(BenchFailed, match="no sale was committed during the step 'no change'"):
        rebalance.run(cast("Any", None), steps, rounds=1, progress=lambda _: None)


def test_the_report_has_one_row_per_step_with_median_and_longest() -> None:
    report = Report(
        (
            Stale("stop of one", 2.0, 24, 0.1, 1.5),
            Stale("join of a third", 8.0, 96, 0.1, 0.4),
            Stale("stop of one", 4.0, 36, 0.2, 2.5),
        )
    )

    rows = [line.split() for line in str(report).splitlines()[1:]]

    assert rows == [
        ["stop", "of", "one", "2", "60", "2.00", "2.50", "3.0"],
        ["join", "of", "a", "third", "1", "96", "0.40", "0.40", "8.0"],
    ]
    assert report.as_json()["steps"][0]["longest_s"] == 1.5

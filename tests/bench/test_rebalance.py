"""`inventory bench rebalance`: its report, and measurements without a sale. No server listens."""

import time

import pytest
from pydantic import SecretStr

from bench import rebalance
from bench.errors import BenchFailed
from bench.rebalance import Report, Stale, Step
from bench.staleness import Staleness
from cdc.settings import Connections

DEADLINE_S = 20
NOWHERE = Connections(database_url=SecretStr("postgresql://127.0.0.1:1/none"))


def test_a_step_without_a_sale_fails_the_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebalance, "QUIET_S", 0.0)
    steps = [Step("stop of one", lambda: None)]

    with pytest.raises(BenchFailed, match="no sale was committed during the step 'no change'"):
        rebalance.run(NOWHERE, steps, rounds=1, progress=lambda _: None)


def refused(staleness: Staleness) -> None:
    until_s = time.monotonic() + DEADLINE_S
    while time.monotonic() < until_s:
        staleness.delays(0.0, until_s, DEADLINE_S)


def test_a_refused_sale_ends_the_measurement() -> None:
    with Staleness(NOWHERE) as staleness, pytest.raises(BenchFailed, match="a sale failed"):
        refused(staleness)


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

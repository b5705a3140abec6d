"""The report of `inventory bench hot`."""

import pytest

from bench.hot_report import Block, HotReport


def block(side: str, items: int, per_s: float, p99_ms: float) -> Block:
    return Block(side, items, 100, per_s, p50_ms=1.0, p99_ms=p99_ms, drain_s=0.5)


def test_each_series_is_compared_by_the_means_of_its_blocks() -> None:
    report = HotReport(
        32,
        20,
        (
            block("log", 1, 900.0, 2.0),
            block("row", 1, 190.0, 9.0),
            block("row", 1, 210.0, 11.0),
            block("log", 1, 1100.0, 3.0),
            block("log", 10_000, 500.0, 4.0),
            block("row", 10_000, 1000.0, 2.0),
        ),
    )

    hot, spread = report.ratios

    assert hot.items == 1
    assert (hot.rate, hot.p99) == pytest.approx((5.0, 0.25))
    assert (spread.items, spread.rate, spread.p99) == (10_000, 0.5, 2.0)
    assert report.as_json()["ratios"][0]["rate"] == hot.rate
    assert "     1      5.00      0.25" in report.as_text()

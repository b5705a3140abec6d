"""The report of `inventory bench rebalance`."""

from bench.rebalance import Report, Stale


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

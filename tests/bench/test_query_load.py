"""Waiting times of queries in `inventory bench workers`. No server listens."""

from bench.scaling.query_load import QueryLoad


def test_the_p99_is_the_99th_of_100_sorted_waiting_times() -> None:
    load = QueryLoad("http://127.0.0.1:1", "token", ["A|1"])  # not entered, so no thread queries
    load.waited_s = [float(number) for number in range(100, 0, -1)]

    assert load.p99_s == 99.0

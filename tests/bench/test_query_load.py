"""Waiting times of queries in `inventory bench workers`. No server listens."""

from bench.scaling.query_load import QueryLoad


def test_99_of_100_queries_waited_for_the_p99_at_most() -> None:
    load = QueryLoad("http://127.0.0.1:1", "token", ["A|1"])  # not entered, so no thread queries
    load.waited_s = [float(number) for number in range(100, 0, -1)]

    assert load.p99_s == 99.0

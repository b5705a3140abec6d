"""Seconds from a sale's commit until a worker shows it; no sale is made and no server listens."""

import pytest
from pydantic import SecretStr

from bench.errors import BenchFailed
from bench.staleness import Staleness
from cdc.settings import Connections

NOWHERE = Connections(database_url=SecretStr("postgresql://127.0.0.1:1/none"))


def recorded(committed: list[float], shown: list[float], *, of_others: float = 0.0) -> Staleness:
    """Return a measurement with these times, in seconds, of the first key's sales.

    Each other key has one sale at `of_others`, which is shown 0.5 s later.
    """
    staleness = Staleness(NOWHERE)  # not entered, so no thread sells or queries
    first, *others = staleness._keys
    first.committed, first.shown = committed, shown
    for key in others:
        key.committed, key.shown = [of_others], [of_others + 0.5]
    return staleness


def test_the_delays_of_a_time_span_are_sorted_and_include_both_ends() -> None:
    staleness = recorded([10.0, 11.0, 12.0, 13.0], [10.5, 13.0, 13.25, 13.5])

    assert staleness.delays(11.0, 12.0, timeout_s=0.0) == [1.25, 2.0]  # both ends are included
    assert staleness.delays(14.0, 15.0, timeout_s=0.0) == []


def test_the_delays_include_the_sales_of_all_keys() -> None:
    staleness = recorded([10.0], [12.0], of_others=10.0)

    delays = staleness.delays(9.0, 11.0, timeout_s=0.0)

    assert delays == [0.5] * (len(staleness._keys) - 1) + [2.0]


def test_a_sale_shown_before_its_commit_has_a_delay_of_zero() -> None:
    assert recorded([10.0], [9.75]).delays(10.0, 11.0, timeout_s=0.0) == [0.0]


def test_a_sale_that_no_worker_shows_fails_the_measurement() -> None:
    staleness = recorded([10.0, 11.0], [10.5])

    with pytest.raises(BenchFailed, match="after 0 s no worker shows the sales of P"):
        staleness.delays(10.0, 11.0, timeout_s=0.0)
    assert staleness.delays(10.0, 10.5, timeout_s=0.0) == [0.5]  # the later sale is not waited for

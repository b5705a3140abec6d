"""Whoever folds millions of values tells the collector of cycles to run rarely."""

import gc
from collections.abc import Iterator

import pytest

from streams.engine.garbage import THRESHOLDS, collect_rarely


@pytest.fixture
def thresholds_put_back() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("thresholds_put_back")
def test_the_collector_runs_rarely_and_stays_on() -> None:
    collect_rarely()

    assert gc.get_threshold() == THRESHOLDS
    assert gc.isenabled()

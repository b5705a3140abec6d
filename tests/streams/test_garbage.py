"""Processes that fold millions of values make Python's garbage collector run rarely."""

import gc
from collections.abc import Iterator

import pytest

from streams.engine.garbage import FREEZE_AFTER_KEYS, THRESHOLDS, CollectorFreeze, collect_rarely


@pytest.fixture
def thresholds_put_back() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("thresholds_put_back")
def test_the_garbage_collector_runs_rarely_and_stays_enabled() -> None:
    collect_rarely()

    assert gc.get_threshold() == THRESHOLDS
    assert gc.isenabled()


@pytest.mark.usefixtures("thresholds_put_back")
def test_one_garbage_collection_scans_few_of_many_new_objects() -> None:
    seen: list[int] = []

    def count(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            looked_at = (gc.get_objects(each) for each in range(info["generation"] + 1))
            seen.append(sum(map(len, looked_at)))

    gc.collect()
    gc.freeze()
    collect_rarely()
    gc.callbacks.append(count)
    try:
        kept = [[number] for number in range(1_300_000)]
    finally:
        gc.callbacks.remove(count)
        gc.unfreeze()

    assert len(kept) > 0
    assert max(seen) < 100_000


def test_many_new_keys_are_frozen_for_the_garbage_collector_and_few_are_not() -> None:
    gc.collect()
    gc.unfreeze()
    freeze = CollectorFreeze()
    try:
        assert not freeze.freeze_if_grown(FREEZE_AFTER_KEYS - 1)
        assert gc.get_freeze_count() == 0
        assert freeze.freeze_if_grown(FREEZE_AFTER_KEYS)
        assert gc.get_freeze_count() > 0
        assert not freeze.freeze_if_grown(2 * FREEZE_AFTER_KEYS - 1)
    finally:
        gc.unfreeze()


def test_keys_that_return_from_rest_are_frozen_again() -> None:
    freeze = CollectorFreeze()
    try:
        assert freeze.freeze_if_grown(3 * FREEZE_AFTER_KEYS)
        assert not freeze.freeze_if_grown(10)
        assert not freeze.freeze_if_grown(FREEZE_AFTER_KEYS)
        assert freeze.freeze_if_grown(10 + FREEZE_AFTER_KEYS)
    finally:
        gc.unfreeze()

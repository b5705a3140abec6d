"""A limit on the time of each test. A test that hangs fails, so the run still ends."""

import signal
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pytest

# The slowest test takes some minutes, on a busy machine some more.
LONGEST_S = 3_600.0
AGAIN_S = 10.0  # asyncio ignores an exception that is raised while it runs a callback


@contextmanager
def limited() -> Iterator[None]:
    """Raise the exception of a failed test in the main thread if the block takes too long."""

    def fail(_number: int, _frame: object) -> None:
        pytest.fail(f"longer than {LONGEST_S:g} s")

    handler = signal.signal(signal.SIGALRM, fail)
    former = signal.setitimer(signal.ITIMER_REAL, LONGEST_S, AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *former)
        signal.signal(signal.SIGALRM, handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, object, object]:
    """Limit the time of the fixtures."""
    with limited():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Limit the time of the test."""
    with limited():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None, object, object]:
    """Limit the time of the clean-up."""
    with limited():
        return (yield)

"""Settings of every test run: drawn cases and their seed, coverage, and the order of tests."""

import gc
import os
import random
import signal
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.utils import translation
from hypothesis import HealthCheck, settings
from xdist.remote import Producer

from tests import time_limit
from tests.coverage_gate import GATES, CoverageGate, Share
from tests.one_stack import OneStack

# The seed is fixed, so every run tests the same cases. `--hypothesis-seed` draws others.
SEED = "20260302"
# These checks fail if drawing is slow or discards many values. The tested code isn't the reason.
UNJUDGED = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)
# No deadline: on a busy machine, correct code could miss it.
settings.register_profile(
    "every", deadline=None, print_blob=True, suppress_health_check=UNJUDGED, database=None
)
# `make check` and `make test` use `quick`, `make soak` uses `long`.
settings.register_profile("quick", settings.get_profile("every"), max_examples=20)
settings.register_profile("long", settings.get_profile("every"), max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--gates`: measure coverage, and fail below the minimums of tests/coverage_gate.py."""
    parser.addoption("--gates", choices=sorted(GATES), help="measure branch coverage and judge it")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose the seed before Hypothesis does, and start to measure coverage.

    The measurement starts before a test module imports a package, so that it has the lines that run
    at import.
    """
    _take_interrupts()
    config.pluginmanager.register(time_limit)
    if config.option.hypothesis_seed == "random":
        config.option.hypothesis_seed = str(random.SystemRandom().randrange(2**32))
    config.option.hypothesis_seed = config.option.hypothesis_seed or SEED
    if (chosen := config.getoption("--gates")) is not None:
        is_one_of_several = hasattr(config, "workerinput")
        gate = Share.of_this_process(chosen) if is_one_of_several else CoverageGate(chosen)
        config.pluginmanager.register(gate)


def _take_interrupts() -> None:
    """Restore Python's handler of SIGINT if SIGINT is ignored.

    A script that starts the tests with `&` lets them ignore SIGINT. Child processes inherit this,
    so a test could not interrupt the processes that it starts.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Import all tests without garbage collection: it would take time and find no garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.fixture(autouse=True)
def reset_language() -> Iterator[None]:
    """Deactivate the language of the test's last request, which Django keeps for the thread.

    Otherwise a later test that calls a function of a page would get texts in this language.
    """
    yield
    if django_settings.configured:
        translation.deactivate()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """After a failure, print the seed that draws the same cases again."""
    if terminalreporter.stats.get("failed"):
        seed = terminalreporter.config.option.hypothesis_seed
        terminalreporter.write_line(f"drawn cases: repeat with --hypothesis-seed={seed}")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> OneStack:
    """Run all tests of the shared stack in one process; distribute the files of all other tests."""
    return OneStack(config, log)


# Modules that write thousands of records to the shared stack. Of the tests without a browser, they
# run last, because every recomputation after them would fold these records, too.
WRITING = frozenset({"test_elastic", "test_faults", "test_workers"})


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run tests without services first, then tests with services, then browser tests.

    Playwright leaves a running event loop, which disturbs tests that start one.
    """
    items.sort(key=lambda item: _turn(item.path))


def _turn(path: Path) -> tuple[bool, bool, bool]:
    needs_services = "tests/stack" in str(path)
    is_writing = needs_services and path.stem in WRITING
    return needs_services, needs_services and path.parent.name == "browser", is_writing

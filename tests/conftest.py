"""Pytest options: number of generated cases, their seed, and coverage measurement."""

import gc
import os
import random
import signal
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer

from tests.coverage_gate import GATES, CoverageGate, Share
from tests.one_stack import OneStack

# The same cases in every run, so that none fails by the luck of a draw; others by the option.
SEED = "20260302"
# Of the drawing, not of the code: how long it took, and how much was drawn in vain.
UNJUDGED = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)
# No deadline: on a busy machine it would report the neighbours and not the code.
settings.register_profile(
    "every", deadline=None, print_blob=True, suppress_health_check=UNJUDGED, database=None
)
# `quick` in `make check` and `make test`, `long` in `make soak`.
settings.register_profile("quick", settings.get_profile("every"), max_examples=20)
settings.register_profile("long", settings.get_profile("every"), max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--gates`: measure coverage, and fail below the minimums of tests/coverage_gate.py."""
    parser.addoption("--gates", choices=sorted(GATES), help="measure branch coverage and judge it")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose a seed before Hypothesis does. Measure before a test module imports a package."""
    _take_interrupts()
    if config.option.hypothesis_seed == "random":
        config.option.hypothesis_seed = str(random.SystemRandom().randrange(2**32))
    config.option.hypothesis_seed = config.option.hypothesis_seed or SEED
    if (chosen := config.getoption("--gates")) is not None:
        is_one_of_several = hasattr(config, "workerinput")
        gate = Share.of_this_process(chosen) if is_one_of_several else CoverageGate(chosen)
        config.pluginmanager.register(gate)


def _take_interrupts() -> None:
    """Handle SIGINT also where a script started the tests with `&`.

    Such a job ignores SIGINT, and so would each process that a test starts and interrupts.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Import all tests without garbage collection: thousands of new objects hold no garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """After a failure, print the seed that draws the same cases again."""
    if terminalreporter.stats.get("failed"):
        seed = terminalreporter.config.option.hypothesis_seed
        terminalreporter.write_line(f"drawn cases: repeat with --hypothesis-seed={seed}")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> OneStack:
    """Give the shared stack's tests to one process, and the other files to all."""
    return OneStack(config, log)


# They write thousands of records, and each recomputation after them folds these too.
WRITING = frozenset({"test_elastic", "test_faults", "test_workers"})


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run service tests last and browser tests after them: their driver leaves an event loop."""
    items.sort(key=lambda item: _turn(item.path))


def _turn(path: Path) -> tuple[bool, bool, bool]:
    needs_services = "tests/stack" in str(path)
    is_writing = needs_services and path.stem in WRITING
    return needs_services, needs_services and path.parent.name == "browser", is_writing

"""Requests of simulations, and their tasks without an engine."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from analytics.simulation.engine import Request
from analytics.simulation.scenarios import Scenario, with_baseline
from tests.analytics.two_runs import Home


def a_request(home: Home, *scenarios: Scenario) -> Request:
    """Return the request for the baseline and these scenarios."""
    return Request(home.settings.home, with_baseline(scenarios))


def no_progress(_done: int, _planned: int, _seconds: float) -> None:
    """Print nothing."""


@contextmanager
def in_this_process(most: int, *, processes: int | None = None) -> Iterator[Any]:
    """Yield a function that runs each task in this process instead of a pool."""

    def run_tasks(units: Sequence[Any], task: Any) -> Iterator[Any]:
        return (task(unit) for unit in units)

    yield run_tasks

"""The metrics of a worker, ordered by name."""

from types import SimpleNamespace
from typing import cast

from streams.query.gauges import Measurable, register
from streams.query.metrics import Metrics

_ABOUT = """[Metrics of a worker](../metrics.md) shows how to collect them and where each signal is.
Labels have few values each, never keys. A histogram has `_bucket`, `_sum` and `_count`. A counter
starts at 0 with its process. Metrics `process_…` (CPU, resident bytes, open files) come with them.

| metric | kind | labels | meaning |
|---|---|---|---|
"""


def page() -> str:
    """Return the page docs/reference/metrics.md without its heading."""
    metrics = Metrics()
    figures = [*metrics.figures, *register(_described(metrics)).figures()]
    figures.sort(key=lambda figure: figure.name)
    rows = [f"| `{f.name}` | {f.kind} | {', '.join(f.labels)} | {f.about} |" for f in figures]
    return _ABOUT + "\n".join(rows) + "\n"


def _described(metrics: Metrics) -> Measurable:
    """Return a stand-in for a worker, enough to register gauges. Their values are never read."""
    ownership = SimpleNamespace(restores=SimpleNamespace())
    writer = SimpleNamespace(counts=SimpleNamespace())
    worker = SimpleNamespace(metrics=metrics, ownership=ownership, snapshot_writer=writer)
    return cast(Measurable, worker)

"""The page about the metrics of workers and of the sender of webhooks, each ordered by name."""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import cast

from cdc.figures import Figure
from ledger.webhooks.metrics import FIGURES
from streams.query.gauges import Measurable, register
from streams.query.metrics import Metrics

_ABOUT = """[Metrics](../metrics.md) shows how to collect these metrics. The [glossary](glossary.md)
explains terms such as chunk, fold, restore, heartbeat row and dedupe ring. A label, for example
`partition`, has only few different values. A histogram has the series `_bucket`, `_sum` and
`_count`. A counter starts at 0 when its process starts. Each process also has the usual metrics
`process_…`: CPU time, resident bytes and open files.
"""
_HEAD = "\n| metric | kind | labels | meaning |\n|---|---|---|---|\n"


def page() -> str:
    """Return the page docs/reference/metrics.md without its heading."""
    metrics = Metrics()
    of_workers = [*metrics.figures, *register(_described(metrics)).figures()]
    return f"{_ABOUT}\n## Workers\n{_table(of_workers)}\n## Sender of webhooks\n{_table(FIGURES)}"


def _table(figures: Iterable[Figure]) -> str:
    ordered = sorted(figures, key=lambda figure: figure.name)
    rows = [f"| `{f.name}` | {f.kind} | {', '.join(f.labels)} | {f.about} |" for f in ordered]
    return _HEAD + "\n".join(rows) + "\n"


def _described(metrics: Metrics) -> Measurable:
    """Return a stand-in for a worker. It has enough attributes to register gauges.

    The page needs only the gauges' names and texts, so nothing reads their values.
    """
    ownership = SimpleNamespace(restores=SimpleNamespace())
    writer = SimpleNamespace(counts=SimpleNamespace())
    worker = SimpleNamespace(metrics=metrics, ownership=ownership, snapshot_writer=writer)
    return cast(Measurable, worker)

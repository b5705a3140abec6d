"""The description of a metric, from which the reference page of metrics is generated."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric of a process, for docs/reference/metrics.md.

    `kind` is its Prometheus type: `counter`, `gauge` or `histogram`. `labels` are the names of its
    labels, and `about` is its help text.
    """

    name: str
    kind: str
    labels: tuple[str, ...]
    about: str

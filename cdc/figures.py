"""The description of a metric, from which the reference page of metrics is generated."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric of a process, for docs/reference/metrics.md."""

    name: str
    kind: str
    labels: tuple[str, ...]
    about: str

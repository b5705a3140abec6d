"""Queries for every page: the choices of its filters, and the freshness of its figures."""

from dataclasses import dataclass

from webui.access.scope import EVERYWHERE, within
from webui.readmodel.rows import select


@dataclass(frozen=True, slots=True)
class Choice:
    """A value of a filter with its display name."""

    code: str
    name: str


def locations() -> list[Choice]:
    """Return the locations of the person's scope that have a name."""
    return select("SELECT code, name FROM retail.location ORDER BY code", {}, Choice)


def partners() -> list[Choice]:
    """Return all named locations. A transfer names its partner, but shows none of its figures."""
    with within(EVERYWHERE):
        return locations()


def suppliers() -> list[Choice]:
    """Return every supplier that has a name."""
    return select("SELECT code, name FROM retail.supplier ORDER BY name", {}, Choice)


def as_of_by_partition(topic: str) -> dict[int, int]:
    """Return by partition the commit time in microseconds of the read model's newest record.

    Heartbeats count as records.
    """
    found = select(
        """SELECT partition, as_of_us FROM read_model.sink_position
           WHERE sink = 'projector' AND topic = %(topic)s AND as_of_us IS NOT NULL""",
        {"topic": topic},
        _AsOf,
    )
    return {place.partition: place.as_of_us for place in found}


@dataclass(frozen=True, slots=True)
class _AsOf:
    partition: int
    as_of_us: int

"""What every page reads: the choices of its filters, and how fresh its figures are."""

from dataclasses import dataclass

from webui.access.scope import EVERYWHERE, within
from webui.readmodel.rows import select


@dataclass(frozen=True, slots=True)
class Choice:
    """A value of a filter with the name that people know it by."""

    code: str
    name: str


def locations() -> list[Choice]:
    """Return the locations of the person's scope that have a name."""
    return select("SELECT code, name FROM retail.location ORDER BY code", {}, Choice)


def partners() -> list[Choice]:
    """Return the names of all locations: a transfer names its partner, and no number of it."""
    with within(EVERYWHERE):
        return locations()


def suppliers() -> list[Choice]:
    """Every supplier that has a name."""
    return select("SELECT code, name FROM retail.supplier ORDER BY name", {}, Choice)


def as_of_by_partition(topic: str) -> dict[int, int]:
    """Commit time up to which the read model includes each partition, heartbeats included."""
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

"""Commit times up to which the read model is complete."""

from dataclasses import dataclass

from ledger.kernel.rows import select


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

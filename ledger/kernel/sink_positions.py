"""As-of times of the read model, by partition."""

from dataclasses import dataclass

from ledger.kernel.rows import select


def as_of_by_partition(topic: str) -> dict[int, int]:
    """Return the as-of time of the read model by partition, for a topic that the projector reads.

    An as-of time is the commit time of the newest record that the read model includes, in
    microseconds since 1970 UTC. Heartbeats are records too. A partition without an as-of time is
    left out.
    """
    found = select(
        """SELECT partition, as_of_us FROM read_model.sink_position
           WHERE sink = 'projector' AND topic = %(topic)s AND as_of_us IS NOT NULL""",
        {"topic": topic},
        _AsOf,
    )
    return {row.partition: row.as_of_us for row in found}


@dataclass(frozen=True, slots=True)
class _AsOf:
    partition: int
    as_of_us: int

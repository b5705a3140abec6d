"""Names of places in the log and of the needs and proposals that begin there (domain.md 1, 4)."""

from typing import NewType

from inventory.model.value import value

InvKey = NewType("InvKey", str)
ReorderId = NewType("ReorderId", str)
ProposalId = NewType("ProposalId", str)


@value
class Position:
    """A record's place in one partition: incarnation of the topic and offset.

    Positions order everything about a key. They are never compared between partitions.
    """

    generation: int
    offset: int


def reorder_id(key: InvKey, opened_at: Position) -> ReorderId:
    """Id of the need that the record at `opened_at` opened; equal in every replay."""
    return ReorderId(f"R:{key}:{opened_at.generation}-{opened_at.offset}")


def proposal_id(key: InvKey, opened_at: Position) -> ProposalId:
    """Id of the price proposal that the record at `opened_at` opened; equal in every replay."""
    return ProposalId(f"P:{key}:{opened_at.generation}-{opened_at.offset}")

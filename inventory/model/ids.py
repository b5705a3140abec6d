"""Positions in the log, and the ids of needs and price proposals (domain.md 1, 4).

An id contains the position of the record that opened the need or proposal, so every replay gives
the same id.
"""

from typing import NewType

from inventory.model.value import value

InvKey = NewType("InvKey", str)
ReorderId = NewType("ReorderId", str)
ProposalId = NewType("ProposalId", str)


@value
class Position:
    """A record's position in one partition: generation of the topic and offset.

    Positions order all records of a key. They are never compared between partitions.
    """

    generation: int
    offset: int


def reorder_id(key: InvKey, opened_at: Position) -> ReorderId:
    """Return `R:{key}:{generation}-{offset}` of the record that opened the need (domain.md 1)."""
    return ReorderId(f"R:{key}:{opened_at.generation}-{opened_at.offset}")


def proposal_id(key: InvKey, opened_at: Position) -> ProposalId:
    """Return `P:{key}:{generation}-{offset}` of the record that opened the proposal (6.3)."""
    return ProposalId(f"P:{key}:{opened_at.generation}-{opened_at.offset}")


def generation_of(opened: str) -> int:
    """Return the generation in the id of a need or price proposal: 3 for `R:L|S:3-17`."""
    return int(opened.rpartition(":")[2].partition("-")[0])

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
    """A record's position in one partition: generation of the source log, and offset.

    Positions order all records of a key. They are never compared between partitions.
    """

    generation: int
    offset: int


def reorder_id(key: InvKey, opened_at: Position) -> ReorderId:
    """Return the id of the need that the record at `opened_at` opened (domain.md 1).

    Its form is `R:{key}:{generation}-{offset}`.
    """
    return ReorderId(f"R:{key}:{opened_at.generation}-{opened_at.offset}")


def proposal_id(key: InvKey, opened_at: Position) -> ProposalId:
    """Return the id of the price proposal that the record at `opened_at` opened (domain.md 6.3).

    Its form is `P:{key}:{generation}-{offset}`.
    """
    return ProposalId(f"P:{key}:{opened_at.generation}-{opened_at.offset}")


def generation_of(opened: str) -> int:
    """Return the log's generation from the id of a need or price proposal: 3 for `R:L|S:3-17`."""
    return int(opened.rpartition(":")[2].partition("-")[0])

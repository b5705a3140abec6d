"""Positions in the log, and ids of the needs and proposals opened there (domain.md 1, 4)."""

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
    """Return the id of the need that the record at `opened_at` opened; equal in every replay."""
    return ReorderId(f"R:{key}:{opened_at.generation}-{opened_at.offset}")


def proposal_id(key: InvKey, opened_at: Position) -> ProposalId:
    """Return the id of the price proposal opened by the record at `opened_at`; equal in replays."""
    return ProposalId(f"P:{key}:{opened_at.generation}-{opened_at.offset}")


def generation_of(opened: str) -> int:
    """Return the generation of the log in which this need or price proposal was opened."""
    return int(opened.rpartition(":")[2].partition("-")[0])

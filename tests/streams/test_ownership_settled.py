"""A worker's partitions are settled only after its group has assigned them."""

import asyncio

from streams.engine.memory import MemoryBroker
from tests.streams.test_ownership import Worker


def test_partitions_are_not_ready_before_the_group_has_assigned_them() -> None:
    """A worker whose group never answers counts as stuck and isn't ready."""
    ownership = Worker(MemoryBroker()).ownership

    async def rebalance() -> list[bool]:
        seen = [ownership.all_ready]
        await ownership.assign([])
        seen.append(ownership.all_ready)
        await ownership.revoked()
        return [*seen, ownership.all_ready]

    assert asyncio.run(rebalance()) == [False, True, False]

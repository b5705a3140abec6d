"""The inbox passes single records on at once and many records in large chunks."""

import asyncio

from streams.worker.batch_queue import Inbox


def test_what_arrives_together_is_taken_together_and_in_order() -> None:
    async def fill() -> list[int]:
        inbox: Inbox[int] = Inbox(10)
        for number in range(7):
            await inbox.put(number)
        return await inbox.take(0.001, 0.01)

    assert asyncio.run(fill()) == [0, 1, 2, 3, 4, 5, 6]


def test_a_full_inbox_makes_the_consumer_wait_until_it_is_taken() -> None:
    async def flood() -> tuple[list[int], list[int]]:
        inbox: Inbox[int] = Inbox(3)

        async def feed() -> None:
            for number in range(5):
                await inbox.put(number)

        feeding = asyncio.create_task(feed())
        first = await inbox.take(0.001, 0.01)
        await feeding
        return first, await inbox.take(0.001, 0.01)

    assert asyncio.run(flood()) == ([0, 1, 2], [3, 4])

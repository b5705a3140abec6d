"""Requests that arrive while a batch is read form the next batch."""

import asyncio
import threading
from collections.abc import Sequence

import pytest

from webui.live.batches import Batches

DEADLINE_S = 60.0


def test_waiting_requests_form_the_next_batches_and_get_their_own_answers() -> None:
    batches: list[int] = []
    released = threading.Event()

    def read(asked: Sequence[int]) -> list[str]:
        batches.append(len(asked))
        assert released.wait(DEADLINE_S)
        return [str(number) for number in asked]

    async def work() -> list[str]:
        reads = Batches("test", read, 60)
        waiting = [asyncio.create_task(reads.ask(number)) for number in range(101)]
        await asyncio.sleep(0)  # let each task ask its question
        released.set()
        return await asyncio.gather(*waiting)

    answers = asyncio.run(work())

    assert answers == [str(number) for number in range(101)]
    # The first batch begins with the first question, or a few more. No batch has more than 60.
    assert sum(batches) == 101
    assert len(batches) <= 3
    assert max(batches) <= 60


def test_a_failed_read_fails_only_the_requests_of_its_batch() -> None:
    def read(asked: Sequence[str]) -> list[str]:
        if "bad" in asked:
            message = "the database is away"
            raise ConnectionError(message)
        return list(asked)

    async def work() -> str:
        reads = Batches("test", read, 10)
        with pytest.raises(ConnectionError, match="away"):
            await reads.ask("bad")
        return await reads.ask("good")

    assert asyncio.run(work()) == "good"


def test_a_cancelled_request_is_not_read() -> None:
    asked_for: list[str] = []
    released = threading.Event()

    def read(asked: Sequence[str]) -> list[str]:
        assert released.wait(DEADLINE_S)
        asked_for.extend(asked)
        return list(asked)

    async def work() -> None:
        reads = Batches("test", read, 1)
        first, left = (asyncio.create_task(reads.ask(text)) for text in ("first", "left"))
        await asyncio.sleep(0)
        left.cancel()
        await asyncio.sleep(0)
        released.set()
        assert await first == "first"
        assert await reads.ask("last") == "last"

    asyncio.run(work())

    assert asked_for == ["first", "last"]

"""Answers of two workers that share a log. `python -m tests.golden.answers` writes golden files.

The lines of a version are written once, at its release, and never changed.
"""

import asyncio
import json
from collections import defaultdict
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from cdc.contracts import answers
from tests.golden.workers import RECORDS
from tests.streams.served import KEYS, Fleet, fleet, halves, partition, stocked

EVEN, ODD = (next(key for key in KEYS if partition(key) % 2 == rest) for rest in (0, 1))


def asked() -> Iterator[tuple[str, bytes]]:
    """Yield kind and bytes of an answer at every address, of a healthy and an unhealthy worker."""
    with pytest.MonkeyPatch.context() as patch:
        yield from asyncio.run(_ask(patch))


async def _ask(patch: pytest.MonkeyPatch) -> list[tuple[str, bytes]]:
    async with fleet(patch, *await halves(stocked())) as found:
        good = [each async for each in _round(found)]
        found.workers[0].ends[partition(EVEN)] += 2
        found.workers[1].ownership.ready.pop(partition(ODD))
        for worker in found.workers:
            worker.loop_seen_s -= 1_000
        return [*good, *[each async for each in _round(found)]]


async def _round(found: Fleet):
    for address, kind in answers.ADDRESSES.items():
        for key in (EVEN, ODD, "S9|NONE", "bad"):
            answer = await found.ask(1, address.replace("{key}", quote(key)))
            bad = answer.status >= 400 and "error" in answer.body
            yield answers.PROBLEM if bad else kind, json.dumps(answer.body).encode()


def main() -> None:
    """Write the file of each kind of answer whose present version has none yet."""
    lines: dict[str, list[bytes]] = defaultdict(list)
    for kind, content in asked():
        if content not in lines[kind]:
            lines[kind].append(content)
    for kind, contents in lines.items():
        version = json.loads(contents[0])["schema"]
        file = RECORDS / f"v{version}" / f"{kind}.jsonl"
        if not file.exists():
            file.write_bytes(b"".join(line + b"\n" for line in contents))


if __name__ == "__main__":
    main()

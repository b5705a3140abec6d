"""A client of the other workers. It finds the owner of a partition and forwards a query to it.

Each worker returns its own partitions on request. The resulting map of owners is renewed at most
every 2 s, and only while queries arrive. Each renewal also reads the workers' addresses again.

The requests of this client have the header `X-Inventory-Hop`. A worker that receives this header
answers from its own state or refuses, so no query is forwarded twice.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import aiohttp

from cdc.contracts.answers import PARTITIONS, Document, checked
from cdc.worker_addresses import worker_urls
from inventory.revision import LOGIC_REVISION
from streams.query.answers import claim_order
from streams.settings import WorkerSettings

HOP_HEADER: Final = "X-Inventory-Hop"
MAP_AGE_S: Final = 2.0
# A worker that didn't answer for this many seconds owns no partition any more, because its session
# in the group has ended.
FORGET_AFTER_S: Final = 10.0
MAP_TIMEOUT_S: Final = 0.25  # a worker may be busy with a chunk
CONNECTIONS: Final = 64


@dataclass(frozen=True, slots=True)
class Reply:
    """Another worker's answer."""

    status: int
    body: bytes
    retry_after: str | None


@dataclass(slots=True)
class _LastAnswer:
    """The last answer of one worker about its partitions."""

    at_s: float
    rows: list[Document]


class Peers:
    """Client of the other workers of this deployment."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._last_answers: dict[str, _LastAnswer] = {}
        self._began_s: float | None = None
        self._round: asyncio.Task[None] | None = None
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close all connections."""
        if self._round is not None:
            self._round.cancel()
            await asyncio.gather(self._round, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    async def owner(self, partition: int, within_s: float) -> str | None:
        """Return the URL of the worker that owns `partition`, or None if none is found.

        If the map of owners is older than `MAP_AGE_S` seconds, renew it in the background, and use
        the old map meanwhile. A wrong owner does no harm: it refuses the query. If the old map has
        no owner, wait at most `within_s` seconds for the new map.
        """
        if self._began_s is None or _now_s() - self._began_s > MAP_AGE_S:
            self._renew()
        found = self._owner(partition)
        if found is None and self._round is not None:
            await asyncio.wait([self._round], timeout=within_s)
            found = self._owner(partition)
        return found

    async def partitions(self) -> list[Document]:
        """Query all other workers now. Return one row for each of their partitions.

        Workers that don't answer within 0.25 s are left out.
        """
        began_s = _now_s()
        # Unlike `await`, `wait` doesn't cancel the task if this caller is cancelled. Other callers
        # may wait for the same task.
        await asyncio.wait([self._renew()])
        return list(self._rows(began_s))

    async def forward(self, url: str, path: str, within_s: float) -> Reply | None:
        """Return the answer of the worker at `url`, or None after `within_s` seconds or a failure.

        `path` is the path of the original query, still encoded, with its parameters.
        """
        try:
            async with asyncio.timeout(within_s), self._get(url + path) as answer:
                body = await answer.read()
        except (aiohttp.ClientError, TimeoutError):
            self._last_answers.pop(url, None)
            self._began_s = None
            return None
        if answer.status == HTTPStatus.MISDIRECTED_REQUEST:
            self._last_answers.pop(url, None)
            self._began_s = None
        return Reply(answer.status, body, answer.headers.get("Retry-After"))

    def _renew(self) -> asyncio.Task[None]:
        if self._round is None or self._round.done():
            self._began_s = _now_s()
            self._round = asyncio.create_task(self._request_all_rows())
        return self._round

    async def _request_all_rows(self) -> None:
        urls = worker_urls(self._settings).values()
        for gone in self._last_answers.keys() - set(urls):
            del self._last_answers[gone]
        await asyncio.gather(*map(self._request_rows, urls))

    async def _request_rows(self, url: str) -> None:
        try:
            async with (
                asyncio.timeout(MAP_TIMEOUT_S),
                self._get(f"{url}/iq/v1/partitions") as answer,
            ):
                rows = checked(PARTITIONS, await answer.json())["partitions"]
        except TimeoutError:
            return  # busy or stopped: use its last answer for `FORGET_AFTER_S`
        except (aiohttp.ClientError, ValueError, KeyError):
            # A worker of another release may give an answer that this code can't read.
            self._last_answers.pop(url, None)
            return
        # Workers of another revision may run beside this one; their states must not be shown here.
        alike = [row for row in rows if row.get("logic_revision") == LOGIC_REVISION]
        self._last_answers[url] = _LastAnswer(_now_s(), [{**row, "address": url} for row in alike])

    def _get(self, url: str) -> Any:  # noqa: ANN401 -- aiohttp's context manager has a private type
        if self._session is None:
            token = self._settings.query_token.get_secret_value()
            self._session = aiohttp.ClientSession(
                headers={
                    "Authorization": f"Bearer {token}",
                    HOP_HEADER: self._settings.worker_id,
                },
                connector=aiohttp.TCPConnector(limit=CONNECTIONS),
            )
        return self._session.get(url, allow_redirects=False)

    def _owner(self, partition: int) -> str | None:
        known = self._rows(_now_s() - FORGET_AFTER_S)
        claims = [row for row in known if row["partition"] == partition]
        return None if not claims else str(max(claims, key=claim_order)["address"])

    def _rows(self, since_s: float) -> Iterable[Document]:
        own_id = self._settings.worker_id
        for last in self._last_answers.values():
            if last.at_s >= since_s:
                yield from (row for row in last.rows if row["worker"] != own_id)


def _now_s() -> float:
    return asyncio.get_running_loop().time()

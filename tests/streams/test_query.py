"""Answers of a worker over HTTP: access, contents, and forwarding to the key's owner."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from urllib.parse import quote

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from yarl import URL

from cdc.contracts.state import encode_state
from cdc.contracts.topics import APP_ID
from inventory.model.ids import InvKey
from inventory.revision import LOGIC_REVISION
from streams.query.peers import HOP_HEADER
from tests.streams import facts
from tests.streams.served import (
    CODE,
    KEYS,
    STOCKED,
    Fleet,
    Worker,
    fleet,
    halves,
    partition,
    stocked,
)

EVEN = next(key for key in KEYS if partition(key) % 2 == 0)
ODD = next(key for key in KEYS if partition(key) % 2 == 1)
OWN, OTHER = "worker-1", "worker-2"


# A forwarded request must keep every character that a SKU may have.
ODD_NAMES = ("S1|a/b", "S1|100 %", "S1|%7C%2F", "S1|süß?#&+=", "S1|..", "S1|a;b:@c", "S1|\\'\"{}")


def on_hand(key: str) -> str:
    return f"/iq/v1/store/on-hand/{quote(key, safe='')}"


def with_two(monkeypatch: pytest.MonkeyPatch, story: Callable[[Fleet], Awaitable[None]]) -> None:
    """Run `story` with two workers that share the partitions, even and odd."""

    async def run() -> None:
        async with fleet(monkeypatch, *await halves(stocked())) as found:
            await story(found)

    asyncio.run(run())


def test_the_answer_for_a_key_has_its_state_and_position(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story(found: Fleet) -> None:
        owned = found.workers[0].ownership.ready[partition(EVEN)]

        answer = await found.ask(0, on_hand(EVEN))

        state = owned.published[InvKey(EVEN)]
        assert answer.status == 200
        assert answer.body["on_hand_units"] == STOCKED - 3
        assert answer.body["available_to_sell_units"] == STOCKED - 3
        assert answer.body["value"]["stock"]["on_hand_units"] == STOCKED - 3
        assert answer.body["value"]["rows"] == []
        assert answer.body["position"] == {
            "generation": 1,
            "partition": owned.number,
            "offset": state.position.offset,
        }
        assert answer.body["next_offset"] == owned.published_offset
        assert answer.body["as_of_us"] == facts.DAY_0_US + 3 * facts.SECOND_US
        assert (answer.body["state"], answer.body["worker"]) == ("RUNNING", OWN)
        assert answer.body["logic_revision"] == LOGIC_REVISION

    with_two(monkeypatch, story)


def test_any_worker_answers_for_any_key(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(found: Fleet) -> None:
        for key in KEYS:
            answers = [await found.ask(number, on_hand(key)) for number in (0, 1)]

            assert [answer.status for answer in answers] == [200, 200]
            assert answers[0].body == answers[1].body
            assert answers[0].body["inv_key"] == key

    with_two(monkeypatch, story)


def test_unusual_item_names_are_forwarded_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with fleet(monkeypatch, *await halves(stocked(ODD_NAMES))) as found:
            for key in ODD_NAMES:
                for number in (0, 1):
                    answer = await found.ask(number, on_hand(key))

                    assert (answer.status, answer.body["inv_key"]) == (200, key)

    asyncio.run(run())


def test_the_answer_for_a_whole_key_equals_its_encoded_state(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story(found: Fleet) -> None:
        state = found.workers[1].ownership.ready[partition(ODD)].published[InvKey(ODD)]

        answer = await found.ask(0, f"/iq/v1/keys/{quote(ODD)}")

        assert answer.body["value"] == json.loads(encode_state(state))
        assert answer.body["worker"] == OTHER

    with_two(monkeypatch, story)


def test_windows_are_chosen_by_their_start(monkeypatch: pytest.MonkeyPatch) -> None:
    start_us = facts.DAY_0_US
    path = f"/iq/v1/store/sales-windows/{quote(ODD)}"

    async def story(found: Fleet) -> None:
        for question, starts in (
            ("", [start_us]),
            (f"?from={start_us}", [start_us]),
            (f"?from={start_us}&to={start_us + 1}", [start_us]),
            (f"?to={start_us}", []),
            (f"?from={start_us + 1}", []),
        ):
            answer = await found.ask(0, path + question)

            assert [row["start_us"] for row in answer.body["windows"]] == starts
        assert (await found.ask(1, path)).body["windows"][0]["sold_units"] == 3

    with_two(monkeypatch, story)


def test_unknown_keys_get_404_and_malformed_queries_get_400(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    missing = next(f"S9|X{n}" for n in range(99) if partition(f"S9|X{n}") % 2)

    async def story(found: Fleet) -> None:
        for path, status in (
            (on_hand(missing), 404),
            (on_hand("no bar"), 400),
            (on_hand("lower|A"), 400),
            (on_hand("S1|A|B"), 400),
            (on_hand("S1|\n"), 400),
            (f"{on_hand(EVEN)}?from=yesterday", 400),
            (f"{on_hand(EVEN)}?to=-1", 400),
            (f"{on_hand(EVEN)}?to=99999999999999999", 400),
            ("/iq/v1/store/prices/S1%7CA", 404),
            ("/iq/v1/nothing", 404),
        ):
            for number in (0, 1):
                assert (await found.ask(number, path)).status == status, path

    with_two(monkeypatch, story)


def test_queries_need_a_token_and_an_empty_token_never_matches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paths = (on_hand(EVEN), "/iq/v1/partitions", "/iq/v1/lag", "/iq/v1/health", "/iq/v1/revision")

    async def run() -> None:
        open_worker = Worker("worker-1", stocked())
        shut_worker = Worker("worker-2", stocked(), token="")
        async with fleet(monkeypatch, open_worker, shut_worker) as found:
            for path in paths:
                for token in (None, "", "wrong", "s\u00e9cret"):
                    assert (await found.ask(0, path, token=token)).status == 401
                assert (await found.ask(1, path, token="")).status == 401
            assert (await found.ask(0, "/iq/v1/revision")).body == {
                "schema": 2,
                "logic_revision": LOGIC_REVISION,
                "group": APP_ID,
                "generation": 1,
                "code": CODE,
            }

    asyncio.run(run())


def test_a_token_of_other_bytes_than_utf8_is_a_wrong_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run() -> bytes:
        async with fleet(monkeypatch, Worker("worker-1", stocked())) as found:
            at = URL(found.urls[0])
            reader, writer = await asyncio.open_connection(at.host, at.port)
            writer.write(
                b"GET /iq/v1/lag HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \xff\r\n\r\n"
            )
            status = await reader.readline()
            writer.close()
            return status

    assert asyncio.run(run()).split()[1] == b"401"


def test_a_query_is_forwarded_at_most_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(found: Fleet) -> None:
        # The partition has moved. Each worker still takes the other one for the owner.
        assert (await found.ask(0, on_hand(ODD))).status == 200
        await found.workers[1].take([])

        direct = await found.ask(0, on_hand(ODD))
        hopped = await found.ask(1, on_hand(ODD), **{HOP_HEADER: OWN})

        assert (direct.status, direct.headers["Retry-After"]) == (503, "1")
        assert (direct.body["partition"], direct.body["worker"]) == (partition(ODD), None)
        assert direct.body["state"] == "UNKNOWN"
        assert hopped.status == 421

    with_two(monkeypatch, story)


def test_a_moved_partition_is_found_at_the_second_query(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        broker = stocked()
        third = Worker("worker-3", broker)
        async with fleet(monkeypatch, *await halves(broker), third) as found:
            assert (await found.ask(0, on_hand(ODD))).body["worker"] == OTHER
            await found.workers[1].take([])
            await third.take([partition(ODD)])

            first = await found.ask(0, on_hand(ODD))
            second = await found.ask(0, on_hand(ODD))

            # The first request fails, because the map is old. It is not forwarded a second time.
            assert first.status == 503
            assert second.body["worker"] == "worker-3"
            assert second.body["on_hand_units"] == STOCKED - 3

    asyncio.run(run())


def test_a_query_of_a_restoring_partition_gets_503(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(found: Fleet) -> None:
        found.workers[1].ownership.ready.pop(partition(ODD))

        for number in (0, 1):
            answer = await found.ask(number, on_hand(ODD))

            assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
            assert answer.body["state"] == "RESTORING"

    with_two(monkeypatch, story)


def test_a_query_waits_only_briefly_for_an_unreachable_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run() -> None:
        silent = await asyncio.start_server(lambda _r, _w: asyncio.sleep(60), "127.0.0.1", 0)
        port = silent.sockets[0].getsockname()[1]
        worker = Worker("worker-1", stocked())
        await worker.take([partition(EVEN)])
        async with fleet(monkeypatch, worker, patient=False) as found:
            for others in ("http://127.0.0.1:9", f"http://127.0.0.1:{port}", "http://[bad"):
                monkeypatch.setenv("INVENTORY_WORKER_URLS", f"{found.urls[0]},{others}")

                answer = await asyncio.wait_for(found.ask(0, on_hand(ODD)), 30)

                assert answer.status == 503
                assert answer.body["state"] == "UNKNOWN"
        silent.close()

    asyncio.run(run())


def test_the_map_names_a_worker_for_every_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(found: Fleet) -> None:
        found.workers[1].ends[1] += 5

        rows = (await found.ask(0, "/iq/v1/partitions")).body["partitions"]

        assert [row["partition"] for row in rows] == list(range(12))
        assert [row["worker"] for row in rows] == [OWN, OTHER] * 6
        assert {row["state"] for row in rows} == {"RUNNING"}
        assert rows[1]["address"] == found.urls[1]
        assert rows[0]["address"] == "http://127.0.0.1:6066"
        assert rows[1]["end_offset"] - rows[1]["next_offset"] == rows[1]["lag_records"] == 5
        assert rows[1]["lag_seconds"] > 0
        assert (rows[0]["lag_records"], rows[0]["lag_seconds"]) == (0, 0.0)
        mine = (await found.ask(0, "/iq/v1/partitions?scope=worker")).body["partitions"]
        assert [row["worker"] for row in mine] == [OWN] * 6
        lag = (await found.ask(1, "/iq/v1/lag")).body
        assert lag["lag_records"] == 5
        assert lag["lag_seconds"] == pytest.approx(time.time() - facts.DAY_0_US / 1e6, rel=0.01)

    with_two(monkeypatch, story)


def test_the_partition_map_shows_an_unowned_partition_as_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story(found: Fleet) -> None:
        await found.workers[1].take([3])
        found.workers[1].ownership.ready.pop(3)

        rows = (await found.ask(0, "/iq/v1/partitions")).body["partitions"]

        assert (rows[1]["worker"], rows[1]["state"]) == (None, "UNKNOWN")
        assert (rows[3]["worker"], rows[3]["state"]) == (OTHER, "RESTORING")

    with_two(monkeypatch, story)


def test_a_query_goes_to_the_most_advanced_worker_that_claims_the_partition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run() -> None:
        broker = stocked()
        asked, old = Worker("worker-1", broker), Worker("worker-2", broker)
        await asked.take([])
        await old.take([partition(ODD)])
        new = Worker("worker-3", broker)
        await new.take([partition(ODD)])
        await new.work()
        async with fleet(monkeypatch, asked, old, new) as found:
            assert (await found.ask(0, on_hand(ODD))).body["worker"] == "worker-3"

    asyncio.run(run())


@pytest.mark.parametrize(
    ("version", "revision", "is_asked"),
    [({"schema": 1}, LOGIC_REVISION + 1, False), ({}, LOGIC_REVISION, True)],
)
def test_queries_skip_workers_of_another_revision_unless_their_map_has_no_version(
    monkeypatch: pytest.MonkeyPatch, version: dict[str, int], revision: int, *, is_asked: bool
) -> None:
    async def run() -> None:
        row = {"worker": "w", "partition": partition(ODD), "state": "RUNNING", "next_offset": 99}
        told = version | {"partitions": [row | {"logic_revision": revision}]}
        beside = web.Application()

        async def say(_request: web.Request) -> web.Response:
            return web.json_response(told)

        async def say_key(_request: web.Request) -> web.Response:
            return web.json_response({"worker": "w"})

        beside.router.add_get("/iq/v1/partitions", say)
        beside.router.add_get("/iq/v1/store/on-hand/{key}", say_key)
        async with (
            TestServer(beside) as server,
            fleet(monkeypatch, *await halves(stocked())) as found,
        ):
            urls = [str(server.make_url("/")).rstrip("/"), *found.urls]
            monkeypatch.setenv("INVENTORY_WORKER_URLS", ",".join(urls))
            owner = "w" if is_asked else OTHER

            assert (await found.ask(0, on_hand(ODD))).body["worker"] == owner
            rows = (await found.ask(0, "/iq/v1/partitions")).body["partitions"]
            expected = [OWN, OTHER] * 6
            expected[partition(ODD)] = owner
            assert [row["worker"] for row in rows] == expected

    asyncio.run(run())


def test_health_needs_no_token_and_ready_means_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(found: Fleet) -> None:
        first, second = found.workers
        assert (await found.ask(0, "/readyz", token=None)).status == 200
        second.ownership.ready.pop(1)
        assert (await found.ask(1, "/readyz", token=None)).status == 503
        health = (await found.ask(1, "/iq/v1/health")).body
        assert (health["state"], health["assigned"], health["ready"]) == ("RESTORING", 6, 5)
        first.loop_seen_s = time.monotonic() - 60
        assert (await found.ask(0, "/livez", token=None)).status == 503
        assert (await found.ask(0, "/iq/v1/health")).status == 503
        assert (await found.ask(1, "/livez", token=None)).status == 200

    with_two(monkeypatch, story)

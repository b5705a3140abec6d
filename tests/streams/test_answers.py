"""Every answer of a worker, refusals included, follows the published schema of its address."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, cast
from urllib.parse import quote

import pytest
from structlog.testing import capture_logs

from cdc.contracts import answers
from streams.query import server
from streams.query.peers import HOP_HEADER
from streams.query.replies import LONGEST_QUERY
from tests.cdc.contract import complaints
from tests.streams.served import KEYS, Answer, Fleet, Worker, fleet, halves, partition, stocked

EVEN, ODD = (next(key for key in KEYS if partition(key) % 2 == rest) for rest in (0, 1))
MISSING = next(f"S9|X{n}" for n in range(99) if partition(f"S9|X{n}") % 2 == 0)
WINDOWS = "/iq/v1/store/sales-windows/"
Story = Callable[[Fleet], Awaitable[None]]


def with_two(monkeypatch: pytest.MonkeyPatch, story: Story) -> None:
    async def run() -> None:
        async with fleet(monkeypatch, *await halves(stocked())) as found:
            await story(found)

    asyncio.run(run())


def assert_fits(kind: str, answer: Answer) -> None:
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Cache-Control"] == "no-store"
    assert complaints(kind, json.dumps(answer.body).encode()) == []


def refusal(answer: Answer) -> str:
    """Return the error code of a refusal after checking its schema."""
    assert answer.status >= 400
    assert_fits(answers.PROBLEM, answer)
    return str(answer.body["error"])


def test_every_query_address_has_a_schema_and_vice_versa() -> None:
    app = server.QueryServer(Worker("worker-1", stocked())).application()
    served = {resource.canonical for resource in app.router.resources()}

    told = {address.replace("/on-hand/", "/{store}/") for address in answers.ADDRESSES}
    told = {address.replace("/sales-windows/", "/{store}/") for address in told}
    assert served == told | {"/metrics"}


@pytest.mark.parametrize("address", answers.ADDRESSES)
def test_an_answer_fits_the_schema_of_its_address(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    kind = answers.ADDRESSES[address]

    async def story(found: Fleet) -> None:
        found.workers[1].ends[partition(ODD)] += 2
        found.workers[1].ownership.ready.pop(next(n for n in range(1, 12, 2) if n != odd))
        for number in (0, 1):
            for key in (EVEN, ODD):
                answer = await found.ask(number, address.replace("{key}", quote(key)))

                assert_fits(kind, answer)

    odd = partition(ODD)
    with_two(monkeypatch, story)


@pytest.mark.parametrize(
    ("address", "inner"), [("/iq/v1/keys/", "state"), ("/iq/v1/store/on-hand/", "level")]
)
def test_the_state_in_an_answer_has_its_own_schema_version(
    monkeypatch: pytest.MonkeyPatch, address: str, inner: str
) -> None:
    async def story(found: Fleet) -> None:
        answer = await found.ask(0, address + quote(ODD))

        assert complaints(inner, json.dumps(answer.body["value"]).encode()) == []

    with_two(monkeypatch, story)


def test_the_answer_for_a_key_includes_the_lag_of_its_partition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story(found: Fleet) -> None:
        found.workers[1].ends[partition(ODD)] += 2

        behind = (await found.ask(0, f"/iq/v1/keys/{quote(ODD)}")).body
        current = (await found.ask(0, f"/iq/v1/keys/{quote(EVEN)}")).body

        assert behind["lag_records"] == 2
        assert behind["lag_seconds"] > 0
        assert (current["lag_records"], current["lag_seconds"]) == (0, 0)

    with_two(monkeypatch, story)


@pytest.mark.parametrize(
    ("path", "status", "word"),
    [
        ("/iq/v1/keys/bad", 400, "key must be LOCATION|SKU, got 'bad'"),
        ("/iq/v1/keys/S1%7C", 400, "key must be LOCATION|SKU"),
        ("/iq/v1/keys/S1%7CA%00", 400, "key must be LOCATION|SKU"),
        (f"{WINDOWS}{quote(EVEN)}?from=yesterday", 400, "from must be epoch microseconds"),
        (f"{WINDOWS}{quote(EVEN)}?from=1.5", 400, "from must be epoch microseconds"),
        (f"{WINDOWS}{quote(EVEN)}?to=-1", 400, "to must be epoch microseconds, got '-1'"),
        (f"{WINDOWS}{quote(EVEN)}?to={'9' * 17}", 400, "to must be epoch microseconds"),
        (
            f"{WINDOWS}{quote(EVEN)}?from=2&to=1",
            400,
            "from must be at most to, got from=2 and to=1",
        ),
        (f"{WINDOWS}{quote(EVEN)}?from=1&from=2", 400, "from is given 2 times: expected once"),
        (f"{WINDOWS}{quote(ODD)}?form=1", 400, "'form' here: expected from and to"),
        (f"/iq/v1/store/on-hand/{quote(EVEN)}?from=1", 400, "'from' here: expected none"),
        ("/iq/v1/partitions?scope=mine", 400, "scope must be all or worker, got 'mine'"),
        ("/iq/v1/lag?partition=1", 400, "no parameter 'partition' here"),
        ("/iq/v1/store/prices/S1%7CA", 404, "expected one of on-hand, sales-windows"),
        ("/iq/v1/nothing", 404, "no address '/iq/v1/nothing': expected one of /iq/v1/keys/{key}"),
        ("/iq/v1/store/on-hand/S1%7CA/more", 404, "no address"),
        ("/", 404, "no address '/'"),
        (f"/iq/v1/keys/{quote(MISSING)}", 404, f"no fact of {MISSING}"),
        (f"/iq/v1/keys/S1%7C{'A' * LONGEST_QUERY}", 414, f"more than {LONGEST_QUERY} bytes"),
        (f"/iq/v1/lag?{'a' * LONGEST_QUERY}", 414, f"more than {LONGEST_QUERY} bytes"),
    ],
)
def test_a_bad_query_is_refused_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, path: str, status: int, word: str
) -> None:
    async def story(found: Fleet) -> None:
        answer = await found.ask(0, path)

        assert word in refusal(answer)
        assert answer.status == status

    with_two(monkeypatch, story)


def test_a_query_with_a_too_long_address_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story(found: Fleet) -> None:
        assert (await found.ask(0, f"/iq/v1/keys/{'A' * 100_000}")).status == 400
        assert (await found.ask(0, "/readyz")).status == 200

    with_two(monkeypatch, story)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_queries_accept_only_get_and_head(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    async def story(found: Fleet) -> None:
        answer = await found.ask(0, f"/iq/v1/keys/{quote(EVEN)}", method=method)

        assert refusal(answer) == f"method {method} is not allowed here: expected GET, HEAD"
        assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")

    with_two(monkeypatch, story)


def test_a_query_without_valid_token_gets_401_with_the_bearer_scheme(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story(found: Fleet) -> None:
        for path in (f"/iq/v1/keys/{quote(EVEN)}", "/iq/v1/nothing"):
            answer = await found.ask(0, path, token="wrong")  # noqa: S106 -- the wrong one

            assert refusal(answer) == "a bearer token is required"
            assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Bearer")

    with_two(monkeypatch, story)


def test_a_query_of_an_unserved_partition_gets_503_with_retry_after(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story(found: Fleet) -> None:
        number = partition(ODD)
        found.workers[1].ownership.ready.pop(number)
        restoring = await found.ask(0, f"/iq/v1/keys/{quote(ODD)}")
        await found.workers[1].take([])
        await found.ask(0, f"/iq/v1/keys/{quote(ODD)}")
        unknown = await found.ask(0, f"/iq/v1/keys/{quote(ODD)}")
        hopped = await found.ask(1, f"/iq/v1/keys/{quote(ODD)}", **{HOP_HEADER: "worker-1"})

        assert refusal(restoring) == f"partition {number} is RESTORING"
        assert refusal(unknown) == f"partition {number} is UNKNOWN"
        assert {restoring.status, unknown.status} == {503}
        assert {restoring.headers["Retry-After"], unknown.headers["Retry-After"]} == {"1"}
        assert (hopped.status, refusal(hopped)) == (421, "this worker does not hold the partition")

    with_two(monkeypatch, story)


def test_health_addresses_of_an_unready_worker_answer_with_retry_after(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story(found: Fleet) -> None:
        found.workers[0].ownership.ready.pop(0)
        found.workers[0].loop_seen_s -= 1_000

        for path in ("/readyz", "/livez", "/iq/v1/health"):
            answer = await found.ask(0, path)

            assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
            assert_fits(answers.ADDRESSES[path], answer)

    with_two(monkeypatch, story)


def test_an_internal_error_is_logged_and_answered_without_details(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story(found: Fleet) -> None:
        found.workers[0].ownership.ready = cast(Any, None)  # makes the handler raise

        with capture_logs() as logged:
            answer = await found.ask(0, f"/iq/v1/keys/{quote(EVEN)}")

        assert (answer.status, refusal(answer)) == (
            500,
            "the worker failed to answer; its log has the error",
        )
        assert [line["event"] for line in logged] == ["query failed"]
        assert (await found.ask(0, "/iq/v1/revision")).status == 200

    with_two(monkeypatch, story)


def test_a_partition_map_with_an_unknown_schema_version_is_ignored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story(found: Fleet) -> None:
        monkeypatch.setattr(
            "cdc.contracts.versions._RELEASED", {answers.PARTITIONS: (2,)}
        )  # both workers answer with version 2 from here on
        assert (await found.ask(0, "/iq/v1/partitions")).body["schema"] == 2
        monkeypatch.setattr("streams.query.peers.checked", refuse)

        rows = (await found.ask(0, "/iq/v1/partitions")).body["partitions"]

        assert {row["worker"] for row in rows} == {"worker-1", None}

    def refuse(kind: str, document: answers.Document) -> answers.Document:
        return answers.checked(kind, document | {"schema": 3})

    with_two(monkeypatch, story)

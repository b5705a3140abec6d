"""Texts are sent compressed. Event streams, pictures and parts of files never are."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from importlib import import_module
from typing import Any

import psycopg
import pytest
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.test import RequestFactory

from tests.ledger.inbox import level, state
from tests.ledger.pages import person, with_static_files

ACCEPTS = {"accept-encoding": "gzip, deflate, br"}
LONG = b"a line of text\n" * 100
pytestmark = pytest.mark.usefixtures("database")


def compressed(response: HttpResponseBase, path: str = "/") -> Any:
    """Return the response of the middleware for this response of a view."""
    module = import_module("webui.config.compression")
    request = RequestFactory(headers=ACCEPTS).get(path)
    return module.CompressTexts(lambda _request: response)(request)


@pytest.mark.parametrize("address", ["/", "/tasks/", "/login/", "/tasks/version", "/stock.csv"])
def test_texts_are_compressed_for_a_browser_that_accepts_it(
    ledger: psycopg.Connection, address: str
) -> None:
    for number in range(20):
        level(ledger, state(sku=f"S{number}"))
    client = person("manager")
    plain = client.get(address)
    packed = client.get(address, headers=ACCEPTS)

    size = len(plain.getvalue())
    if size < 200:  # too short to be compressed
        assert "Content-Encoding" not in packed
        return
    assert packed["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in packed["Vary"]
    assert len(packed.getvalue()) < size / 2
    assert "Content-Encoding" not in plain


def test_the_size_of_a_page_varies_at_random(ledger: psycopg.Connection) -> None:
    """With a fixed size, an attacker could guess secrets of the page (BREACH)."""
    answers = [compressed(HttpResponse(LONG)) for _ in range(20)]

    assert len({len(answer.content) for answer in answers}) > 1
    assert {gzip.decompress(answer.content) for answer in answers} == {LONG}


@pytest.mark.parametrize("kind", ["text/event-stream", "text/event-stream; charset=utf-8"])
def test_an_event_stream_is_never_compressed(kind: str) -> None:
    async def events() -> AsyncIterator[bytes]:
        yield LONG

    answer = compressed(StreamingHttpResponse(events(), content_type=kind))

    assert "Content-Encoding" not in answer


def test_images_and_partial_responses_are_not_compressed() -> None:
    for response in (
        HttpResponse(LONG, content_type="image/png"),
        HttpResponse(LONG, content_type="text/css", status=206),
    ):
        assert "Content-Encoding" not in compressed(response)


def test_a_streamed_file_is_compressed_as_one_gzip_stream() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield LONG[:64]

    async def joined(answer: Any) -> bytes:
        return b"".join([chunk async for chunk in answer.streaming_content])

    whole = StreamingHttpResponse(chunks(), content_type="text/css")
    whole["Content-Length"] = "6400"
    answer = compressed(whole)
    packed = asyncio.run(joined(answer))

    assert gzip.decompress(packed) == LONG[:64] * 100
    assert len(packed) < 400
    assert "Content-Length" not in answer


@pytest.mark.parametrize("file", ["css/app.css", "js/app.js", "css/item.css"])
def test_a_request_with_the_etag_of_a_compressed_file_gets_status_304(
    ledger: psycopg.Connection, file: str
) -> None:
    with with_static_files():
        client = person("associate")
        first = client.get(f"/static/{file}", headers=ACCEPTS)
        tag = first["ETag"]

        again = client.get(f"/static/{file}", headers={**ACCEPTS, "if-none-match": tag})

    assert first["Content-Encoding"] == "gzip"
    assert tag.startswith("W/")
    assert again.status_code == 304

"""Middleware that sends texts compressed: pages, scripts, styles, JSON and CSV.

An attacker who can add text to a page and see its compressed size could guess a secret in it
(BREACH). Two measures prevent this: Django masks the CSRF token differently on every page, and
its GZip middleware adds up to 100 random bytes to every response. Any other secret, such as a new
token, is only in the response to one form. This response contains no text from other people.
"""

from collections.abc import AsyncIterable, AsyncIterator
from typing import Final, cast

from django.conf import settings
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from typing_extensions import override

# A compressor buffers text, so events would arrive late.
EVENTS: Final = "text/event-stream"
_TEXTS: Final = (
    *("text/", "application/json", "application/javascript", "application/manifest+json"),
    *("application/problem+json", "application/openapi", "image/svg+xml"),
)


class CompressTexts(GZipMiddleware):
    """Middleware that compresses texts with gzip if the browser accepts it; never an event stream.

    brotli would save a tenth more, but is no part of the standard library.
    """

    def process_request(self, request: HttpRequest) -> None:
        """For a file, replace a weak ETag in `If-None-Match` by the file's own, strong ETag.

        A browser that received the file compressed sends the weak ETag. With the strong one, it
        gets 304 for an unchanged file.
        """
        tag = request.META.get("HTTP_IF_NONE_MATCH", "")
        if request.path.startswith(settings.STATIC_URL) and tag.startswith("W/"):
            request.META["HTTP_IF_NONE_MATCH"] = tag.removeprefix("W/")

    @override
    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """Return the response; compress a text, but no event stream and no part of a file."""
        kind = response.headers.get("Content-Type", "")
        if kind.startswith(EVENTS) or not kind.startswith(_TEXTS):
            return response
        # This response is a part of a file. Its header states the range of the uncompressed bytes.
        if response.status_code == 206:  # noqa: PLR2004 -- partial content
            return response
        if isinstance(response, StreamingHttpResponse) and _is_file(response):
            chunks = cast(AsyncIterable[bytes], response.streaming_content)
            response.streaming_content = _joined(chunks)
        return super().process_response(request, cast(HttpResponse, response))


def _is_file(response: StreamingHttpResponse) -> bool:
    """Return True for a static file: its length is known, and it is small enough for memory."""
    return response.is_async and "Content-Length" in response.headers


async def _joined(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Yield all chunks as one, because Django compresses each chunk separately."""
    yield b"".join([chunk async for chunk in chunks])

"""`/live/stream`: server-sent events with the changes and the age of one page's keys.

Each synchronous function that reads the database also closes its connection, in the same thread.
`sync_to_async(connection.close)` would close the connection of another thread. If each stream kept
its pooled connection, a few open pages would use up the pool.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, Final

from asgiref.sync import sync_to_async
from django.contrib.auth import get_user
from django.core import signing
from django.db import connection
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils import translation
from django.views.decorators.http import require_GET

from ledger.access.scope import EVERYWHERE, Scope, stores_of, within
from webui.accounts.sessions import end_reason, lacks_second_factor
from webui.live.hub import Hub, Subscriber
from webui.live.patches import Patch, patch_of_record, patch_of_row
from webui.readmodel.figures import time_text
from webui.readmodel.stock import stock_rows

SALT: Final = "webui.live.keys"
MOST_KEYS: Final = 200
TOKEN_AGE_S: Final = 12 * 3600
FLUSH_S: Final = 0.1
AGE_EVERY_S: Final = 1.0
PING_EVERY_S: Final = 15.0
# Time within which a stream ends after its session, the account or the store access has ended.
CHECK_EVERY_S: Final = 5.0

HUB: Final = Hub(patch_of_record)


def sign_keys(user_id: int, keys: list[str]) -> str:
    """Return the page's keys as a signed token for the stream's URL: clients can't add keys."""
    return signing.dumps({"u": user_id, "k": keys[:MOST_KEYS]}, salt=SALT, compress=True)


@require_GET
async def stream(request: HttpRequest) -> HttpResponseBase:
    """Send new stock figures of the page's items until the page is closed or the session ends."""
    token = request.GET.get("keys", "")
    opened = await sync_to_async(_open)(request, token)
    if isinstance(opened, HttpResponse):
        return opened
    response = StreamingHttpResponse(_events(request, opened), content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response


def _open(request: HttpRequest, token: str) -> list[str] | HttpResponse:
    """Return the keys this session may follow, or the refusal; close the database connection."""
    try:
        is_over = end_reason(request.session, time.time()) is not None
        if is_over or not request.user.is_authenticated:
            return HttpResponse("log in first", status=401, content_type="text/plain")
        if lacks_second_factor(request.session, request.user):
            text = "set up your second factor first"
            return HttpResponse(text, status=403, content_type="text/plain")
        interest = signing.loads(token, salt=SALT, max_age=TOKEN_AGE_S)
        if interest["u"] != request.user.pk:
            return HttpResponse(
                "this page was made for another user: reload it",
                status=403,
                content_type="text/plain",
            )
        keys = list(interest["k"])
        # The person's stores may have changed since the page was rendered.
        if not _allows_all(stores_of(request.user), keys):
            return HttpResponse(
                "this page shows a store that is not yours: reload it",
                status=403,
                content_type="text/plain",
            )
    except signing.BadSignature:
        return HttpResponse(
            "the page is too old or was changed: reload it", status=403, content_type="text/plain"
        )
    else:
        return keys
    finally:
        connection.close()


def _language(request: HttpRequest) -> str:
    """Return the language of the page, for the stream, which outlives the request."""
    return str(getattr(request, "LANGUAGE_CODE", ""))


def _current(keys: frozenset[str], language: str) -> dict[str, Patch]:
    """Return the read model's patches of the keys; close the database connection."""
    try:
        with (
            within(EVERYWHERE),
            translation.override(language or None),
        ):  # `_open` has checked every key
            return {row.inv_key: patch_of_row(row) for row in stock_rows(sorted(keys))}
    finally:
        connection.close()


def _allows_all(scope: Scope, keys: Iterable[str]) -> bool:
    return all(scope.allows_key(key) for key in keys)


def _still_allowed(request: HttpRequest, keys: frozenset[str]) -> bool:
    """Return True if session, account and stores in the database still allow these keys.

    Disabling a person or changing their password ends the session, too.
    """
    try:
        again = HttpRequest()
        again.session = type(request.session)(request.session.session_key)
        # A session that no longer exists loads as an empty one.
        stored = again.session.load()
        if not stored or end_reason(stored, time.time()) is not None:
            return False
        person = get_user(again)
        if not person.is_authenticated or lacks_second_factor(stored, person):
            return False
        return _allows_all(stores_of(person), keys)
    finally:
        connection.close()


async def _events(request: HttpRequest, keys: list[str]) -> AsyncIterator[bytes]:
    # Subscribe before the read model is read, so that no change between the two steps is lost.
    subscriber = HUB.subscribe(keys, _language(request))
    try:
        yield b"retry: 1000\n\n"
        if subscriber.keys:
            current = await sync_to_async(_current)(subscriber.keys, subscriber.language)
            yield _event("resync", current)
        yield _age(subscriber)
        async for chunk in _follow(request, subscriber):
            yield chunk
    finally:
        HUB.unsubscribe(subscriber)


async def _follow(request: HttpRequest, subscriber: Subscriber) -> AsyncIterator[bytes]:
    """Yield patches at most every 100 ms, the age every second and a ping every 15 s."""
    aged_at = pinged_at = checked_at = time.monotonic()
    while not HUB.closing:
        now = time.monotonic()
        if now - checked_at >= CHECK_EVERY_S:
            checked_at = now
            if not await sync_to_async(_still_allowed)(request, subscriber.keys):
                yield _event("bye", {"reason": "logged out"})
                return
        if now - pinged_at >= PING_EVERY_S:
            pinged_at = now
            yield b": still here\n\n"
        if now - aged_at >= AGE_EVERY_S:
            aged_at = now
            yield _age(subscriber)
        if await _waited(subscriber, aged_at + AGE_EVERY_S - now) and not HUB.closing:
            yield _event("patch", subscriber.take())
            await asyncio.sleep(FLUSH_S)


async def _waited(subscriber: Subscriber, seconds: float) -> bool:
    """Return True if a key changed before the timeout."""
    try:
        await asyncio.wait_for(subscriber.changed.wait(), timeout=max(0.0, seconds))
    except TimeoutError:
        return False
    return True


def _age(subscriber: Subscriber) -> bytes:
    """Return the age event: the age in ms of the page's oldest partition by the server's clock.

    The age is null if a partition has no as-of time yet.
    """
    as_of_us = HUB.as_of_us(subscriber.partitions())
    age_ms = None if as_of_us is None else max(0, time.time_ns() // 1000 - as_of_us) // 1000
    known = HUB.as_of_by_partition(subscriber.partitions())
    content = {
        "age_ms": age_ms,
        "as_of": "" if as_of_us is None else time_text(as_of_us)[11:],
        "partitions": {number: time_text(at_us) for number, at_us in known.items()},
    }
    return _event("age", content)


def _event(name: str, content: Mapping[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(content)}\n\n".encode()

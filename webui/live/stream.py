"""`/live/stream`: server-sent events with the new figures of one page's keys, and their age.

A stream itself never reads the database. One thread checks the streams that open, one reads their
first figures, and one repeats the check for all open streams. So a web process needs three
connections for its streams, however many there are.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Final

from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.views.decorators.http import require_GET

from webui.accounts.signed_in import MOST_SESSIONS
from webui.live.access import Asked, asked_by, refusals
from webui.live.batches import Batches
from webui.live.current import Page, resync_events
from webui.live.events import age_event, bye_event, encoded_record, patches_event
from webui.live.hub import Hub, Subscriber
from webui.live.watch import Following, Watch

AGE_EVERY_S: Final = 1.0
PING_EVERY_S: Final = 15.0
# The largest number of pages whose figures one query reads. A page has up to 200 keys, so a query
# reads up to 20,000 rows.
_READ_TOGETHER: Final = 100

HUB: Final = Hub(encoded_record)
WATCH: Final = Watch(refusals)
OPENING: Final = Batches("live-open", refusals, MOST_SESSIONS)
CURRENT: Final = Batches("live-current", resync_events, _READ_TOGETHER)


@require_GET
async def stream(request: HttpRequest) -> HttpResponseBase:
    """Send new stock figures of the page's items until the page is closed or the session ends.

    The status is 401 or 403 if the person may not follow these items.
    """
    asked = asked_by(request.session.session_key or "", request.GET.get("keys", ""))
    began = time.monotonic()
    refusal = await OPENING.ask(asked)
    if refusal is not None:
        return HttpResponse(refusal.text, status=refusal.status, content_type="text/plain")
    response = StreamingHttpResponse(
        _events(asked, _language(request), began), content_type="text/event-stream"
    )
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response


def _language(request: HttpRequest) -> str:
    """Return the language of the request; the stream sends all its texts in this language."""
    return str(getattr(request, "LANGUAGE_CODE", ""))


async def _events(asked: Asked, language: str, checked_at: float) -> AsyncIterator[bytes]:
    # Subscribe before the read model is read, so that no change between the two steps is lost.
    subscriber = HUB.subscribe(asked.keys, language)
    following = Following(asked, subscriber, checked_at)
    WATCH.add(following)
    try:
        yield b"retry: 1000\n\n"
        if subscriber.keys:
            yield await CURRENT.ask(Page(subscriber.keys, language))
        yield age_event(HUB, subscriber.partitions)
        async for chunk in _follow(following, subscriber):
            yield chunk
    finally:
        WATCH.remove(following)
        HUB.unsubscribe(subscriber)


async def _follow(following: Following, subscriber: Subscriber[bytes]) -> AsyncIterator[bytes]:
    """Yield patches as they come, the age every second and a ping every 15 s.

    Yield only pings while the right to the keys isn't confirmed.
    """
    aged_at = pinged_at = time.monotonic()
    while not (HUB.closing or following.is_over):
        now = time.monotonic()
        if now - pinged_at >= PING_EVERY_S:
            pinged_at = now
            yield b": still here\n\n"
        if not following.is_confirmed(now):
            await asyncio.sleep(AGE_EVERY_S)
            continue
        if now - aged_at >= AGE_EVERY_S:
            aged_at = now
            yield age_event(HUB, subscriber.partitions)
        if await _waited(subscriber, aged_at + AGE_EVERY_S) and subscriber.pending:
            yield patches_event("patch", subscriber.take())
    if following.is_refused:
        yield bye_event()


async def _waited(subscriber: Subscriber[bytes], until: float) -> bool:
    """Return True if a key changed before `until`, a time of `time.monotonic`."""
    if subscriber.changed.is_set():
        return True
    try:
        async with asyncio.timeout(max(0.0, until - time.monotonic())):
            await subscriber.changed.wait()
    except TimeoutError:
        return False
    return True

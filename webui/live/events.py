"""Server-sent events of the live stream, as bytes.

A patch is encoded once, however many streams send it.
"""

import json
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from webui.live.hub import Hub
from webui.live.patches import Patch, patch_of_record
from webui.readmodel.figures import time_text


def encoded(patch: Patch) -> bytes:
    """Return a patch (the new cell texts of one key) as JSON."""
    return json.dumps(patch).encode()


def encoded_record(content: bytes) -> bytes:
    """Return the patch for a level record of the changelog, as JSON."""
    return encoded(patch_of_record(content))


def patches_event(name: str, patches: Mapping[str, bytes]) -> bytes:
    """Return the event `name`. Its data is a JSON object {key: encoded patch}."""
    members = b", ".join(
        b"%b: %b" % (json.dumps(key).encode(), patch) for key, patch in patches.items()
    )
    return b"event: %b\ndata: {%b}\n\n" % (name.encode(), members)


def age_event(hub: Hub[Any], partitions: frozenset[int]) -> bytes:
    """Return the event `age` for a page that shows keys of these partitions.

    `age_ms` is the age of the oldest partition in ms, by the server's clock. `as_of` is its
    as-of time without the date. `partitions` has the as-of time of each partition. The age is
    null if a partition has no as-of time yet.
    """
    as_of_us = hub.as_of_us(partitions)
    age_ms = None if as_of_us is None else max(0, time.time_ns() // 1000 - as_of_us) // 1000
    known = hub.as_of_by_partition(partitions)
    content = {
        "age_ms": age_ms,
        "as_of": "" if as_of_us is None else _time(as_of_us)[11:],
        "partitions": {number: _time(at_us) for number, at_us in known.items()},
    }
    return _event("age", content)


# Cache the texts, because every stream formats the times of the same few partitions each second.
@lru_cache(maxsize=256)
def _time(at_us: int) -> str:
    return time_text(at_us)


def bye_event() -> bytes:
    """Return the last event of a stream that is no longer allowed."""
    return _event("bye", {"reason": "logged out"})


def _event(name: str, content: Mapping[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(content)}\n\n".encode()

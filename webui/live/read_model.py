"""The age of the read model, for the label at the top of open pages (the "pill").

The numbers of an open page come from the changelog. The choice and order of its rows come from the
read model. While the projector is down, the numbers stay new and the lists grow old. So the hub has
to know the age of the changelog and of the read model. One query for the whole process reads the
age of the read model, however many pages are open.
"""

import asyncio
from typing import Any, Final

import structlog
from django.db import DatabaseError, connection

from cdc.contracts.topics import ON_HAND_CHANGELOG
from ledger.kernel.sink_positions import as_of_by_partition
from webui.live.hub import Hub

# The pill must change within five seconds after the projector has stopped. The hub needs up to
# three seconds to notice the lag (`webui.live.hub.LAG_US`). A page then waits up to one second for
# its next event `age`.
POLL_S: Final = 0.5

log = structlog.get_logger(__name__)


async def follow_read_model(hub: Hub[Any]) -> None:
    """Copy the read model's as-of times into the hub every `POLL_S` seconds until cancelled.

    While the database doesn't answer, the hub keeps the last times, so the shown age grows.
    """
    answered = True
    while True:
        try:
            hub.note_read_model(await asyncio.to_thread(read_model_as_of))
            answered = True
        except DatabaseError as failure:
            if answered:
                log.warning("the age of the read model is unknown", error=str(failure))
            answered = False
        await asyncio.sleep(POLL_S)


def read_model_as_of() -> dict[int, int]:
    """Return the read model's as-of times by partition, in microseconds since 1970 UTC.

    Raises:
        DatabaseError: the database didn't answer.
    """
    try:
        return as_of_by_partition(ON_HAND_CHANGELOG)
    finally:
        connection.close()

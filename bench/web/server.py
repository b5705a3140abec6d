"""`python -m bench.web.server`: a stack's web server that reads level records from standard input.

This server is `webui.__main__` with another feed, which doesn't read a changelog in Kafka. Each
line of its standard input is one level record. Django's settings, hub, streams and uvicorn are the
same as in a stack.
"""

import asyncio
import json
import sys
import time
from typing import Final

from cdc.contracts.topics import PARTITIONS
from cdc.logs import configure_logging
from webui import __main__ as web
from webui.live.stream import HUB

# Fields of an input line: a key, and its level record as text.
KEY: Final = "key"
LEVEL: Final = "level"


class InputFeed:
    """A feed that publishes the level records of standard input to the hub."""

    def begin_at(self, offsets: dict[int, int]) -> None:
        """Do nothing with the read model's offsets: the input has only later changes."""

    async def run(self) -> None:
        """Publish each line until the input ends, so that the server ends with the bench."""
        HUB.connected = True
        for partition in range(PARTITIONS):
            HUB.advance_as_of(partition, time.time_ns() // 1000)
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=1 << 20)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            change = json.loads(line)
            HUB.publish(change[KEY], change[LEVEL].encode())


def main() -> None:
    """Run the server until SIGTERM or the end of the input."""
    settings = web.ServerSettings()
    configure_logging(level=settings.log_level, service="web")
    asyncio.run(web.serve(settings, InputFeed()))


if __name__ == "__main__":
    main()

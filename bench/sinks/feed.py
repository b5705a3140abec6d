"""`python -m bench.sinks.feed FILE`: the web server of a stack, which reports its feed's progress.

It is `webui.__main__` with one more task: it writes the number of records that the feed has given
to the hub into FILE, twenty times a second. No page is open.
"""

import asyncio
import sys
from pathlib import Path
from typing import Final

from cdc.logs import configure_logging
from webui import __main__ as web
from webui.live.stream import HUB

_EVERY_S: Final = 0.05


async def _report(file: Path) -> None:
    reported = -1
    while True:
        if reported != HUB.records:
            reported = HUB.records
            unfinished = file.with_suffix(".new")
            unfinished.write_text(str(reported), encoding="utf-8")
            unfinished.replace(file)
        await asyncio.sleep(_EVERY_S)


async def _serve(settings: web.ServerSettings, file: Path) -> None:
    reporting = asyncio.create_task(_report(file))
    try:
        await web.serve(settings)
    finally:
        reporting.cancel()


def main() -> None:
    """Run the server until SIGTERM."""
    settings = web.ServerSettings()
    configure_logging(level=settings.log_level, service="web")
    asyncio.run(_serve(settings, Path(sys.argv[1])))


if __name__ == "__main__":
    main()

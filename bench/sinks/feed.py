"""`python -m bench.sinks.feed FILE LEVELS`: the web server of a stack, with figures of its feed.

This module runs `webui.__main__` with one more task. The feed gives the levels of the changelog to
the hub, which remembers the latest ones for open pages. Twenty times a second, the task writes into
FILE how many records the hub has got. When the server ends, the module writes the on-hand units of
the remembered levels into LEVELS, as JSON {key: units}. No page is open.
"""

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import Final

from cdc.contracts.state import decode_level
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


def _write_levels(file: Path) -> None:
    levels = {key: decode_level(level)[0].stock.on_hand_units for key, level in HUB.latest.items()}
    file.write_text(json.dumps(levels), encoding="utf-8")


def main() -> None:
    """Run the server until SIGTERM."""
    settings = web.ServerSettings()
    configure_logging(level=settings.log_level, service="web")
    # After the server has ended, uvicorn raises the signal again. By default, this would end the
    # process before it has written the levels.
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit())
    file, levels_file = map(Path, sys.argv[1:])
    try:
        asyncio.run(_serve(settings, file))
    finally:
        _write_levels(levels_file)


if __name__ == "__main__":
    main()

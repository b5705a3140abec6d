"""Endless trading by the demo's people as a service: `python -m deploy.stack.trader`.

It calls the function behind `inventory simulate`. The command itself was ruled out: it reads every
variable of the running stack, and it prints for a person the text that this service logs.
"""

from typing import Final

import structlog

from cdc.logs import configure_logging
from deploy.stack.django import setup_django

RATE: Final = 1  # sale lines a second
# The demo's people answer half of the proposals, each after a minute, and leave at most the newest
# 12 others to visitors (`Habits`).
LEFT_PERMILLE: Final = 500
PATIENCE_S: Final = 60

log = structlog.get_logger(__name__)


def main() -> None:
    """Trade until SIGTERM."""
    configure_logging(service="trading")
    setup_django()
    from bench.retailer import simulate  # noqa: PLC0415 -- needs Django set up

    simulate.run(
        simulate.Trading(rate=RATE, minutes=0, left_permille=LEFT_PERMILLE, patience_s=PATIENCE_S),
        progress=lambda done: log.info("traded", done=str(done)),
    )


if __name__ == "__main__":
    main()

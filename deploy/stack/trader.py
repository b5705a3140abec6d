"""Trading by the demo's simulated people, as a service: `python -m deploy.stack.trader`.

The service calls the function behind `inventory simulate`, and runs until SIGTERM. The command
itself would load every variable of the running stack, and would print its progress instead of
logging it.
"""

from typing import Final

import structlog

from cdc.logs import configure_logging
from deploy.stack.django import setup_django

RATE: Final = 1  # sale lines a second
# The demo's people answer half of the proposals, each after half a minute. The other half is for
# visitors of the pages. But visitors get at most the newest 12 needs and 12 prices (`Habits`).
LEFT_PERMILLE: Final = 500
PATIENCE_S: Final = 30

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

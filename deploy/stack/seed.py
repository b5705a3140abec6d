"""`python -m deploy.stack.seed`: the demo retailer, written once, in a process of its own.

The supervisor runs it between the connector's start and the traders: rows that were there before
the slot would arrive as snapshot rows.
"""

import sys

from deploy.stack.django import setup_django


def main() -> None:
    """Write the retailer where it is not there yet."""
    setup_django()
    from webui.trading.demo import seed_demo  # noqa: PLC0415 -- needs Django set up

    seed_demo(progress=lambda text: print(text, file=sys.stderr, flush=True))  # noqa: T201 -- its log


if __name__ == "__main__":
    main()

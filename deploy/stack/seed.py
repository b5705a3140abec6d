"""Creation of the demo retailer, in a separate process: `python -m deploy.stack.seed`.

The supervisor runs it after the connector has started, and before trading starts. If rows were
written before the slot exists, they would arrive as snapshot rows. The rules decide nothing for
those.
"""

import sys

from deploy.stack.django import setup_django
from deploy.stack.home import Home, default_home, write_json


def main() -> None:
    """Write the demo retailer, its prepared incidents, and one login per role.

    The incidents are problems that people find on the pages, such as a price below its price floor.
    Rows that exist already stay unchanged.
    """
    setup_django()
    from bench.retailer.demo import seed_demo  # noqa: PLC0415 -- needs Django set up
    from bench.retailer.morning import begin_morning  # noqa: PLC0415 -- needs Django set up

    seed_demo(progress=lambda text: print(text, file=sys.stderr, flush=True))  # noqa: T201 -- its log
    begin_morning()
    home = Home(default_home())
    if not home.has_demo():
        from ledger.people import seed_demo_users  # noqa: PLC0415 -- needs Django set up

        write_json(home.logins_file, seed_demo_users())


if __name__ == "__main__":
    main()

"""Request a review of two runs for a web user: `python -m deploy.requests.review A B PERSON`."""

import sys

from analytics.damage import Damage
from deploy import output
from deploy.errors import StackError
from deploy.stack.django import connect_django
from ledger.kernel.errors import LedgerError


def main() -> int:
    """Compare runs A and B, request the review and print it as JSON.

    Return 0. After an error, print the error, and return its exit code.
    """
    try:
        connect_django()
        from cdc.settings import Connections  # noqa: PLC0415 -- reads the environment
        from deploy.revisions.review_request import request_review_of  # noqa: PLC0415 -- as above

        a, b, actor = sys.argv[1:]
        output.as_json(request_review_of(Connections(), a, b, actor=actor).as_json())
    except (Damage, StackError, LedgerError) as error:
        output.errors.print(f"error: {error}")
        return int(getattr(error, "exit_code", 1))
    return 0


if __name__ == "__main__":
    sys.exit(main())

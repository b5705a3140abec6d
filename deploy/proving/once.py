"""One proof in a separate process: `python -m deploy.proving.once`.

A child process returns its memory when it ends, and its failure can't stop the service that started
it.
"""

import os
import signal
import sys
from types import FrameType
from typing import Final

import structlog

from analytics.damage import Damage
from analytics.engines.spark import LOCAL
from cdc.logs import configure_logging
from cdc.settings import Connections
from deploy.stack.django import setup_django

_NOT_COMPARABLE: Final = 2
_NAMED: Final = 5
_NICE: Final = 10

log = structlog.get_logger(__name__)


def main() -> int:
    """Prove once. Return 0 if equal, 1 if different, 2 if nothing was compared."""
    configure_logging(service="prover")
    # With a nice value of 10, a proof gets about a tenth of a busy processor, so it still ends.
    os.nice(_NICE)
    signal.signal(signal.SIGTERM, _stop)
    setup_django()
    from deploy.proving.proof import prove_and_record  # noqa: PLC0415 -- needs Django set up

    found = Connections()
    # The process has the password of one role only; this role may read the proposals, too.
    settings = found.model_copy(update={"read_database_url": found.database_url})
    try:
        proof = prove_and_record(
            settings, engine="local", cluster=LOCAL, is_full=False, progress=_ignore
        )
    except Damage as problem:
        log.warning("not proven", problem=str(problem))
        return _NOT_COMPARABLE
    except Exception:  # the edge of the process: exit code 1 would mean a difference
        log.exception("not proven")
        return _NOT_COMPARABLE
    report = proof.report
    if not proof.is_comparable:
        log.warning("not proven", behind=report.decisions.behind)
    elif report.ok:
        log.info("proven", run=report.run.plan.run, keys=report.keys_compared)
    else:
        named = [entry.get("key", entry.get("id")) for entry in proof.differences[:_NAMED]]
        log.critical("proof_differs", keys=report.keys_differing, first=named)
    return proof.exit_code


def _stop(number: int, _frame: FrameType | None) -> None:
    """End by an exception, so that temporary files are deleted and pool processes end."""
    sys.exit(128 + number)


def _ignore(_done: int, _planned: int, _name: str) -> None:
    """Ignore the progress: the service's log has one line per proof."""


if __name__ == "__main__":
    sys.exit(main())

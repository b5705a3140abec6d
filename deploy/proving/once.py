"""One proof in a separate process: `python -m deploy.proving.once`.

The prover starts this process for each proof, because a process returns its memory when it ends.
And if a proof fails, the prover still runs.
"""

import signal
import sys
from types import FrameType
from typing import Final

import structlog

from analytics.damage import Damage
from analytics.engines.spark import LOCAL
from cdc.cpu_share import PROVER, lower_share
from cdc.logs import configure_logging
from cdc.settings import Connections
from deploy.stack.django import setup_django

_NOT_COMPARABLE: Final = 2
_NAMED: Final = 5

log = structlog.get_logger(__name__)


def main() -> int:
    """Make one proof. Return 0 if it found no difference, 1 if it found one, 2 without a result."""
    configure_logging(service="prover")
    lower_share(PROVER)
    signal.signal(signal.SIGTERM, _stop)
    setup_django()
    from deploy.proving.proof import prove_and_record  # noqa: PLC0415 -- needs Django set up

    found = Connections()
    # The process has the password of only one role. Use this role also to read the proposals.
    settings = found.model_copy(update={"read_database_url": found.database_url})
    try:
        proof = prove_and_record(
            settings, engine="local", cluster=LOCAL, is_full=False, progress=_ignore
        )
    except Damage as problem:
        log.warning("not proven", problem=str(problem))
        return _NOT_COMPARABLE
    except Exception:  # without this, the exit code would be 1, which means a difference
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
    """End by `SystemExit`, so that temporary files are deleted and pool processes end."""
    sys.exit(128 + number)


def _ignore(_done: int, _planned: int, _name: str) -> None:
    """Ignore the progress, because the service's log has only one line per proof."""


if __name__ == "__main__":
    sys.exit(main())

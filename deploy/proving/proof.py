"""One proof: choose a base run, compare, record the result, and delete the runs of older proofs."""

from collections.abc import Callable
from typing import Final

from django.db import connection

from analytics.backfill.prove import Proof, delete_others, only_proof, prove
from analytics.engines.code import code_hash
from analytics.engines.spark import Cluster
from cdc.settings import Connections
from inventory.revision import LOGIC_REVISION
from ledger.proofs.queries import differing_runs, is_full_proof_due, proven_runs
from ledger.proofs.service import RecordProof, record_proof

_KEPT: Final = 2  # proven runs: the base of the next proof, and another if that one is damaged

Progress = Callable[[int, int, str], None]


def prove_and_record(
    settings: Connections, *, engine: str, cluster: Cluster, is_full: bool, progress: Progress
) -> Proof:
    """Compare the live state with a recomputation of history. Record and return the result.

    The recomputation starts from the newest proven run of this code's rules: a run that was equal
    to the live state. It starts at the first record if `is_full` is set, if no run is proven, and
    once a week. A result that is not comparable is not recorded.

    Django must be set up.

    Raises:
        RunInUse: another process makes a proof.
        NotProven: there was nothing to compare.
        BaseAhead: the workers' states end before the end of the base run.
    """
    rules = code_hash(), LOGIC_REVISION
    with only_proof(settings):
        is_from_base = not is_full and not is_full_proof_due(*rules)
        bases = proven_runs(*rules, limit=_KEPT) if is_from_base else []
        connection.close()  # a comparison takes long, and Postgres may restart meanwhile
        found = prove(settings, bases, engine=engine, cluster=cluster, progress=progress)
        if found.is_comparable:
            record_proof(_record(found))
            kept = {*proven_runs(*rules, limit=_KEPT), *differing_runs(), found.report.run.plan.run}
            delete_others(settings, kept)
    return found


def last_proven() -> str | None:
    """Return the name of the newest proven run of this code's rules, or None.

    Django must be set up.
    """
    return next(iter(proven_runs(code_hash(), LOGIC_REVISION, limit=1)), None)


def _record(found: Proof) -> RecordProof:
    report, plan = found.report, found.report.run.plan
    return RecordProof(
        run=plan.run,
        base=plan.base_name,
        logic_revision=plan.logic_revision,
        code=plan.code,
        ends={str(number): end for number, end in plan.ends.items()},
        keys_compared=report.keys_compared,
        keys_differing=report.keys_differing,
        decisions_compared=report.decisions.compared,
        decisions_differing=len(report.decisions.differing),
        differences=found.differences,
        seconds=found.seconds,
        digest=str(report.run.as_json()["states_digest"]),
    )

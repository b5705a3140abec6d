"""Insert proofs into `app.proof`. No statement of this project changes or deletes a proof."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ledger.kernel.transactions import execute, ledger_transaction

_ADD: Final = """
INSERT INTO app.proof (run, base, logic_revision, code, ends, keys_compared, keys_differing,
    decisions_compared, decisions_differing, differences, seconds, digest)
VALUES (%s, %s, %s, %s, %s::jsonb, %s, %s, %s, %s, %s::jsonb, %s, %s)
"""


@dataclass(frozen=True, slots=True)
class RecordProof:
    """The result of a comparison of the live state with the recomputation `run`.

    `code` is the digest of the rules' sources.

    `ends` maps each partition to the first offset that neither the live state nor the recomputation
    includes. `base` is the run from whose states the recomputation started, None if it started at
    the first record. `differences` has the first differing keys and decisions. `digest` is a hash
    of all recomputed states.
    """

    run: str
    base: str | None
    logic_revision: int
    code: str
    ends: Mapping[str, int]
    keys_compared: int
    keys_differing: int
    decisions_compared: int
    decisions_differing: int
    differences: Sequence[Mapping[str, Any]]
    seconds: int
    digest: str


def record_proof(proof: RecordProof) -> None:
    """Insert a proof into `app.proof`."""
    with ledger_transaction():
        execute(
            _ADD,
            proof.run,
            proof.base,
            proof.logic_revision,
            proof.code,
            json.dumps(proof.ends),
            proof.keys_compared,
            proof.keys_differing,
            proof.decisions_compared,
            proof.decisions_differing,
            json.dumps(proof.differences),
            proof.seconds,
            proof.digest,
        )

"""Queries of recorded proofs (`app.proof`)."""

from datetime import datetime
from typing import Final

from ledger.kernel.transactions import fetch_column, fetch_value

# Calendar days (UTC) between two full proofs. With 168 hours instead, a nightly proof that starts
# some minutes early would not be full. Only the proof of the next night would be full, so the
# weekday of the full proof would move by a day.
DAYS_PER_FULL_PROOF: Final = 7
_EQUAL: Final = "keys_differing = 0 AND decisions_differing = 0"
_PROVEN: Final = f"""
SELECT run FROM app.proof WHERE code = %s AND logic_revision = %s AND {_EQUAL}
ORDER BY id DESC LIMIT %s
"""  # noqa: S608 -- constants of this module
_HAS_FULL: Final = f"""
SELECT EXISTS (
    SELECT FROM app.proof WHERE code = %s AND logic_revision = %s AND {_EQUAL} AND base IS NULL
    AND finished_at::date > clock_timestamp()::date - %s
)
"""  # noqa: S608 -- constants of this module
_DIFFERING: Final = f"SELECT run FROM app.proof WHERE NOT ({_EQUAL}) ORDER BY id DESC LIMIT 1"  # noqa: S608 -- constants of this module
# Without a proof, the result is the time of the migration that created `app.proof`.
_SINCE: Final = """
SELECT coalesce(
    (SELECT max(finished_at) FROM app.proof),
    (SELECT max(applied) FROM app.django_migrations WHERE name = '0028_proofs')
)
"""


def proven_runs(code: str, revision: int, *, limit: int) -> list[str]:
    """Return the names of up to `limit` runs whose proof found no difference, newest first.

    `code` is the digest of the rules' sources, `revision` the logic revision.
    """
    return [str(run) for run in fetch_column(_PROVEN, code, revision, limit)]


def is_full_proof_due(code: str, revision: int) -> bool:
    """Return True unless these rules had a full proof without a difference in the last 7 UTC days.

    A full proof recomputes history from its first record.
    """
    return not fetch_value(_HAS_FULL, code, revision, DAYS_PER_FULL_PROOF)


def differing_runs() -> list[str]:
    """Return a list with the name of the newest run that differed from the live state, or []."""
    return [str(run) for run in fetch_column(_DIFFERING)]


def proven_since() -> datetime:
    """Return the time of the newest proof, or of the creation of `app.proof` if there is none."""
    found: datetime = fetch_value(_SINCE)
    return found

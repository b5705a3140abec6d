"""Nightly proofs: each compared the live state with a recomputation of history."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from ledger.access.scope import current
from ledger.kernel.rows import select, select_one

SHOWN: Final = 60
OLDEST: Final = timedelta(hours=36)  # if the newest proof is older, a night was missed
_PROOFS: Final = """
SELECT p.id, p.finished_at, p.run, p.base, p.logic_revision, p.code, p.digest, p.seconds,
       p.keys_compared, p.keys_differing, p.decisions_compared, p.decisions_differing,
       (extract(epoch FROM clock_timestamp() - p.finished_at) * 1000000)::bigint AS age_us,
       ARRAY(SELECT coalesce(d->>'key', d->>'id')
             FROM jsonb_array_elements(p.differences) d) AS named
FROM app.proof p
WHERE NOT %(only_different)s OR p.keys_differing > 0 OR p.decisions_differing > 0
ORDER BY p.id DESC LIMIT %(most)s
"""
_PROVER: Final = """
SELECT s.at, s.detail->>'hour' AS hour, clock_timestamp() AS now,
       (extract(epoch FROM clock_timestamp() - s.at) * 1000000)::bigint AS age_us
FROM read_model.service_heartbeat s WHERE s.service = 'prover'
"""


@dataclass(frozen=True, slots=True)
class Proof:
    """One comparison of the live state with a recomputation of history.

    `base` is None if the recomputation started at the first record. `named` holds the first keys
    and proposals that differ. `seconds` is the duration.
    """

    id: int
    finished_at: datetime
    run: str
    base: str | None
    logic_revision: int
    code: str
    digest: str
    seconds: int
    keys_compared: int
    keys_differing: int
    decisions_compared: int
    decisions_differing: int
    age_us: int
    named: list[str]

    @property
    def is_equal(self) -> bool:
        """Return True if no key and no decision differed."""
        return not self.keys_differing and not self.decisions_differing


@dataclass(frozen=True, slots=True)
class Prover:
    """The last report of the prover, which makes a proof each night at `hour`.

    All fields are None without a report. `hour` is None if proofs are off. `age_us` is the age of
    the report in µs.
    """

    at: datetime | None = None
    hour: str | None = None
    now: datetime | None = None
    age_us: int | None = None

    def is_overdue(self, newest: Proof | None) -> bool:
        """Return True if proofs are on and the newest proof is older than 36 hours.

        Without any proof, return False.
        """
        if self.hour is None or self.now is None or newest is None:
            return False
        return self.now - newest.finished_at > OLDEST


def proofs(*, only_different: bool = False, most: int = SHOWN) -> list[Proof]:
    """Return the newest proofs, newest first.

    `named` is empty unless the person may see all stores, because it names keys of every store.
    """
    found = select(_PROOFS, {"only_different": only_different, "most": most}, Proof)
    return found if current().everywhere else [replace(proof, named=[]) for proof in found]


def last_proof() -> Proof | None:
    """Return the newest proof, or None."""
    return next(iter(proofs(most=1)), None)


def prover() -> Prover:
    """Return the schedule of proofs as the prover reported it last."""
    return select_one(_PROVER, {}, Prover) or Prover()

"""Check of the nightly proof: its newest result, and its age if nightly proofs are on."""

from datetime import UTC, datetime, timedelta
from typing import Final, LiteralString, NamedTuple

from deploy.doctor.capturing import reading
from deploy.doctor.failures import Failure
from deploy.doctor.row import Row, ok
from deploy.stack.home import Home
from inventory.explain.formatting import counted_text

OLDEST: Final = timedelta(hours=36)  # an older proof means that the last nightly proof is missing
# The prover's heartbeat row has two values. `hour` is the hour of the nightly proof, or null if
# proofs are off. `last_us` is the time of the newest proof, or of the creation of `app.proof`.
_NEWEST: Final[LiteralString] = """
SELECT clock_timestamp(), s.detail->>'hour', s.detail->>'last_us', p.finished_at, p.run,
       p.keys_compared, p.keys_differing, p.decisions_differing,
       (SELECT string_agg(coalesce(d->>'key', d->>'id'), ', ')
        FROM (SELECT d FROM jsonb_array_elements(p.differences) d LIMIT 3) first)
FROM (SELECT 1) one
LEFT JOIN read_model.service_heartbeat s ON s.service = 'prover'
LEFT JOIN (SELECT * FROM app.proof ORDER BY id DESC LIMIT 1) p ON true
"""


class _Found(NamedTuple):
    """The newest proof, and the values in the prover's heartbeat row.

    If one of the two rows is missing, its fields are None.
    """

    now: datetime
    hour: str | None
    last_us: str | None
    finished_at: datetime | None
    run: str | None
    keys: int | None
    keys_differing: int | None
    decisions_differing: int | None
    named: str | None

    @property
    def last_at(self) -> datetime:
        """Return the time of the newest proof.

        Without a proof, return the time in the prover's heartbeat row, or now if there is no row.
        """
        if self.finished_at is not None:
            return self.finished_at
        last_us = self.last_us
        return self.now if last_us is None else _EPOCH + timedelta(microseconds=int(last_us))


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def proof(home: Home) -> Row:
    """Check that the last proof found no difference, and that it is at most 36 hours old.

    The age counts only while nightly proofs are on.
    """
    with reading(home) as connection:
        row = connection.execute(_NEWEST).fetchone()
    assert row is not None  # noqa: S101 -- the query always has one row
    found = _Found(*row)
    age = found.now - found.last_at
    text = _text(found, age)
    if found.keys_differing or found.decisions_differing:
        return Failure.PROOF_DIFFERS.row(text)
    if found.hour is not None and age > OLDEST:
        return Failure.PROOF_OLD.row(text)
    return ok("proof", text)


def _text(found: _Found, age: timedelta) -> str:
    if found.finished_at is None:
        return "none yet" if found.hour is not None else "none; nightly proofs are off"
    hours = int(age.total_seconds()) // 3600
    text = f"{found.run}, {hours} h ago: "
    if not found.keys_differing and not found.decisions_differing:
        return f"{text}{counted_text(found.keys or 0, 'key')} equal"
    keys = counted_text(found.keys_differing or 0, "key")
    decisions = counted_text(found.decisions_differing or 0, "decision")
    return f"{text}{keys} and {decisions} differ: {found.named or 'unnamed'}"

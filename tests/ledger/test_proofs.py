"""Recorded proofs, and the runs from which the next proof may start."""

from importlib import import_module
from typing import Any

import psycopg
import pytest

CODE, REVISION = "0123456789abcdef", 1


def record(
    run: str,
    *,
    base: str | None = None,
    code: str = CODE,
    revision: int = REVISION,
    keys_differing: int = 0,
    decisions_differing: int = 0,
) -> None:
    service = import_module("ledger.proofs.service")
    service.record_proof(
        service.RecordProof(
            run=run,
            base=base,
            logic_revision=revision,
            code=code,
            ends={"0": 7},
            keys_compared=5,
            keys_differing=keys_differing,
            decisions_compared=2,
            decisions_differing=decisions_differing,
            differences=[{"key": "L1|TEA"}] * keys_differing,
            seconds=3,
            digest="ab" * 16,
        )
    )


@pytest.fixture
def queries(ledger: psycopg.Connection) -> Any:
    return import_module("ledger.proofs.queries")


def age(ledger: psycopg.Connection, days: int) -> None:
    """Move all proofs to an earlier day."""
    ledger.execute(
        "UPDATE app.proof SET finished_at = finished_at - make_interval(days => %s)", (days,)
    )


def test_only_equal_proofs_of_the_same_rules_are_bases(queries: Any) -> None:
    record("local-a")
    record("local-b", base="local-a")
    record("local-c", keys_differing=1)
    record("local-d", decisions_differing=1)
    record("local-e", code="f" * 16)
    record("local-f", revision=2)

    assert queries.proven_runs(CODE, REVISION, limit=9) == ["local-b", "local-a"]
    assert queries.proven_runs(CODE, REVISION, limit=1) == ["local-b"]
    assert queries.differing_runs() == ["local-d"]


def test_a_full_proof_is_due_seven_days_after_the_last_one(
    queries: Any, ledger: psycopg.Connection
) -> None:
    assert queries.is_full_proof_due(CODE, REVISION)
    record("local-a")
    assert not queries.is_full_proof_due(CODE, REVISION)
    assert queries.is_full_proof_due(CODE, 2)
    assert queries.is_full_proof_due("f" * 16, REVISION)

    age(ledger, 6)
    assert not queries.is_full_proof_due(CODE, REVISION)
    age(ledger, 1)
    assert queries.is_full_proof_due(CODE, REVISION)
    record("local-b", base="local-a")
    assert queries.is_full_proof_due(CODE, REVISION)
    record("local-c", keys_differing=1)
    assert queries.is_full_proof_due(CODE, REVISION)
    record("local-c")
    assert not queries.is_full_proof_due(CODE, REVISION)


def test_proven_since_is_the_newest_proof_or_the_installation_time(
    queries: Any, ledger: psycopg.Connection
) -> None:
    installed = queries.proven_since()
    record("local-a", keys_differing=1)
    row = ledger.execute("SELECT finished_at FROM app.proof").fetchone()

    assert row is not None
    assert queries.proven_since() == row[0] > installed


def test_a_recorded_proof_is_never_changed(queries: Any, till: psycopg.Connection) -> None:
    record("local-a")

    for statement in ("UPDATE app.proof SET keys_differing = 0", "DELETE FROM app.proof"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            till.execute(statement)
    assert queries.proven_runs(CODE, REVISION, limit=1) == ["local-a"]

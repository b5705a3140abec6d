"""A recomputation of the running stack's history gives its workers' states, byte for byte."""

import json
import re

import pytest

from analytics.archive.names import HEAD, MANIFEST
from analytics.backfill.run import run
from analytics.backfill.verify import verify
from tests.analytics.shop import Shop
from tests.stack.running import RunningStack


def test_recomputed_states_equal_the_live_ones_byte_for_byte(stack: RunningStack) -> None:
    Shop(stack.settings.owner_database_url.get_secret_value()).trade()

    report = verify("local", settings=stack.settings)

    assert report.ok, report.as_json()["differences"]
    assert report.keys_compared >= 3


@pytest.mark.soak  # tests/analytics/test_prove.py proves without a stack
def test_a_proof_starts_from_the_last_proven_states(stack: RunningStack) -> None:
    Shop(stack.settings.owner_database_url.get_secret_value()).trade()
    first = stack.cli("backfill", "prove", "--full", "--json")
    Shop(stack.settings.owner_database_url.get_secret_value()).trade()

    second = stack.cli("backfill", "prove", "--json")

    ended = [(done.returncode, done.stderr) for done in (first, second)]
    assert [code for code, _ in ended] == [0, 0], ended
    proofs = [json.loads(done.stdout) for done in (first, second)]
    assert [proof["base"] for proof in proofs] == [None, proofs[0]["run"]]
    before, after = (sum(proof["ends"].values()) for proof in proofs)
    assert proofs[1]["records"] == after - before > 0
    assert proofs[1]["live_digest"] == proofs[1]["recomputed_digest"]
    again = stack.cli("backfill", "verify", "--from", "last-proven", "--json")
    assert json.loads(again.stdout)["base"] == proofs[1]["run"]


@pytest.mark.soak  # tests/analytics/test_engines.py compares them on a generated history
def test_spark_and_the_local_engine_agree_on_the_same_history(stack: RunningStack) -> None:
    Shop(stack.settings.owner_database_url.get_secret_value()).trade()

    local = run("local", settings=stack.settings)
    spark = run("spark", local.plan.run, settings=stack.settings)

    assert spark.digest == local.digest
    assert spark.as_json()["keys"] == local.as_json()["keys"] > 0
    assert run("spark", local.plan.run, settings=stack.settings).units_computed == 0


@pytest.mark.soak  # tests/deploy/test_rearchive.py compares archives without a stack
@pytest.mark.parametrize("lost", [(), (MANIFEST, HEAD)])
def test_an_archive_is_written_again_from_the_topic_and_compared(
    stack: RunningStack, lost: tuple[str, ...]
) -> None:
    Shop(stack.settings.owner_database_url.get_secret_value()).trade()
    run("local", settings=stack.settings)
    for name in lost:
        (stack.settings.archive_dir / name).unlink()

    done = stack.cli("backfill", "rearchive", "--yes")
    again = stack.cli("backfill", "rearchive", "--report", "--json")

    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^[1-9]\d* files with [1-9][\d,]* records in ", done.stdout, re.MULTILINE)
    assert "records are being written to the archive again, from stock.events" in done.stderr
    assert again.returncode == 0, again.stdout
    found = json.loads(again.stdout)
    assert found["verdicts"] == {"equal": len(found["partitions"])}
    assert sum(row["records"] for row in found["partitions"]) > 0
    assert run("local", settings=stack.settings).units_computed > 0

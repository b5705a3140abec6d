"""Shadow revisions beside the running stack: equal rules agree, others decide once promoted.

The code of each other revision is a copy of this code with another revision number. One of the
copies also has a changed rule.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from analytics.verify import verify
from cdc.capture.admin import topic_drift
from cdc.contracts.topics import (
    APP_ID,
    REORDER_EVENTS,
    STOCK_EVENTS,
    application_id,
    topics_of,
)
from deploy.errors import StackError
from deploy.revisions import shadow
from deploy.revisions.members import members
from deploy.revisions.promote import active
from deploy.revisions.retire import retire
from deploy.stack.home import PROJECT
from deploy.stack.runtime import read_runtime
from inventory.revision import CHANGES, LOGIC_REVISION
from tests.analytics.shop import Shop
from tests.stack.running import RunningStack
from tests.stack.test_actuator import produce

PACKAGES = ("inventory", "cdc", "streams")
OURS, SAME, OTHER = range(LOGIC_REVISION, LOGIC_REVISION + 3)
DIGEST, EDITED = "5e" * 32, "ed" * 32
REVIEW = """
INSERT INTO app.diff_review (digest, former, revision, code, runs, summary, requested_by)
VALUES (%s, %s, %s, %s, '{a,b}', '{}', 'ada') RETURNING id
"""
REVIEWED = """
INSERT INTO app.diff_review_key (review, kind, inv_key)
SELECT %s, kind, inv_key FROM unnest(%s::text[], %s::text[]) AS one (kind, inv_key)
"""
APPROVED = """
INSERT INTO app.diff_verdict (review, requested_by, verdict, decided_by)
VALUES (%s, 'ada', 'approved', 'olga')
"""
SELL = """
INSERT INTO retail.sale_line
    (inv_key, location, sku, source, source_ref, quantity_units, amount_minor, occurred_at)
VALUES (%(place)s || '|' || %(sku)s, %(place)s, %(sku)s, 'test', %(place)s || %(sku)s, %(units)s,
    999, clock_timestamp())
"""

JOIN = """
import sys
from confluent_kafka import Consumer
bootstrap, group, topic = sys.argv[1:]
member = Consumer({
    "bootstrap.servers": bootstrap, "group.id": group, "session.timeout.ms": 6000,
    "enable.auto.commit": False,
})
member.subscribe([topic], on_assign=lambda *_: print("joined", flush=True))
while True:
    member.poll(1)
"""


def code_of(revision: int, tree: Path, *, more_units: int = 0) -> Path:
    """Return a copy of this code as another revision. `more_units` are added to each order."""
    for package in PACKAGES:
        shutil.copytree(PROJECT / package, tree / package)  # includes the bytecode
    replaced(
        tree / "inventory" / "revision.py",
        r"LOGIC_REVISION: Final = \d+",
        f"LOGIC_REVISION: Final = {revision}",
    )
    if more_units:
        replaced(
            tree / "inventory" / "replenishment" / "quantity.py",
            r"return level.order_up_to_units - base_units",
            f"return level.order_up_to_units - base_units + {more_units}",
        )
    return tree


def replaced(file: Path, pattern: str, by: str) -> None:
    text, count = re.subn(pattern, by, file.read_text("utf-8"))
    assert count == 1, f"{file}: {pattern}"
    file.write_text(text, "utf-8")
    for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*"):
        compiled.unlink()  # Python would take it for the new source


def sell(stack: RunningStack, shop: Shop, sku: str, units: int) -> None:
    with psycopg.connect(shop.url, autocommit=True) as connection:
        connection.execute(SELL, {"place": shop.location, "sku": sku, "units": units})


def die_in_group(stack: RunningStack, group: str) -> None:
    """Add a member to the consumer group and kill it. The broker drops it after a timeout."""
    command = [sys.executable, "-c", JOIN, stack.settings.kafka_bootstrap, group, STOCK_EVENTS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as member:  # noqa: S603 -- our own code
        assert member.stdout is not None
        assert member.stdout.readline() == "joined\n"
        member.kill()


def desk(stack: RunningStack, shop: Shop) -> dict[str, tuple[Any, ...]]:
    """Return the shop's open needs by item: quantity and the revision that made them."""
    url = stack.settings.read_database_url.get_secret_value()
    with psycopg.connect(url, autocommit=True) as connection:
        rows = connection.execute(
            "SELECT sku, quantity_units, logic_revision FROM app.reorder_proposal"
            " WHERE location = %s AND status = 'open'",
            (shop.location,),
        )
        return {str(sku): (units, revision) for sku, units, revision in rows}


def wait_for_desk(stack: RunningStack, shop: Shop, expected: dict[str, tuple[Any, ...]]) -> None:
    stack.wait_until(lambda: desk(stack, shop) == expected, describe=lambda: str(desk(stack, shop)))


def report(stack: RunningStack, *arguments: str, exit_code: int = 0) -> dict[str, Any]:
    done = stack.cli("revision", *arguments, "--json")
    assert done.returncode == exit_code, done.stdout + done.stderr
    return dict(json.loads(done.stdout))


def approve(stack: RunningStack, shop: Shop, digest: str, keys: set[tuple[str, str]]) -> None:
    """Record an approved difference of these keys, as two people would by commands."""
    code = shadow.code_of(stack.home, OTHER)
    with psycopg.connect(shop.url, autocommit=True) as connection:
        row = connection.execute(REVIEW, (digest, OURS, OTHER, code)).fetchone()
        assert row is not None
        kinds, names = [kind for kind, _ in keys], [key for _, key in keys]
        connection.execute(REVIEWED, (row[0], kinds, names))
        connection.execute(APPROVED, row)


def agree(stack: RunningStack, shop: Shop, keys: set[tuple[str, str]]) -> None:
    """Approve all keys but one, and assert that this approval lapses. Then approve all keys."""
    approve(stack, shop, DIGEST, keys - {("reorder", f"{shop.location}|C")})
    lapsed = stack.cli("backfill", "cutover", str(OTHER), "--approval", DIGEST)
    assert lapsed.returncode == 1
    assert re.search(rf"has lapsed: 1 of {len(keys)} differing keys? not approved", lapsed.stderr)
    approve(stack, shop, DIGEST[::-1], keys)
    options = ("--rounds", "1", "--approval", DIGEST[::-1], "--json")
    watched = stack.cli("backfill", "shadow", str(OTHER), *options)
    assert watched.returncode == 0, watched.stderr
    assert json.loads(watched.stdout)["unapproved"] == 0


def revisions(stack: RunningStack) -> dict[int, dict[str, Any]]:
    done = stack.cli("revision", "list", "--json")
    assert done.returncode == 0, done.stderr
    return {row["revision"]: row for row in json.loads(done.stdout)}


def is_verified(stack: RunningStack, shop: Shop) -> bool:
    """Return True if `verify` and `backfill verify` find no difference in this shop."""
    of_shop = verify(shop.location, settings=stack.settings)
    recomputed = stack.cli("backfill", "verify")
    return of_shop.exit_code == 0 and shop.location not in recomputed.stdout


@pytest.fixture
def shop(stack: RunningStack) -> Iterator[Shop]:
    """A shop with needs. Afterwards this code's revision decides, and all others are removed."""
    opened = Shop(stack.settings.owner_database_url.get_secret_value())
    opened.trade()
    sell(stack, opened, "C", 90)
    stack.wait_until(lambda: "C" in desk(stack, opened))
    try:
        yield opened
    finally:
        if active(stack.settings) != OURS:
            shadow.stop(stack.home, active(stack.settings) or OURS)
            stack.cli("revision", "promote", str(OURS), "--without-comparison", "--timeout", "600")
        for revision in shadow.shadows(stack.home):
            stack.cli("revision", "retire", str(revision), "--delete")


@pytest.mark.soak
def test_a_shadow_of_the_same_rules_holds_the_same_state_byte_for_byte(
    stack: RunningStack, shop: Shop, tmp_path: Path
) -> None:
    tree = code_of(SAME, tmp_path / "same")
    wrong = stack.cli("revision", "start", str(OTHER), "--code", str(tree))
    assert f"LOGIC_REVISION is {SAME}, not {OTHER}" in wrong.stderr
    started = stack.cli("revision", "start", str(SAME), "--code", str(tree))
    assert started.returncode == 0, started.stderr

    produce(stack, b"no decision")

    found = report(stack, "compare", str(SAME), "--states")

    assert any("not JSON" in refused for refused in found["refused_records"])
    assert found["differing"] == 0, found["differences"]
    assert found["equal"] >= 1
    assert found["states"]["differing"] == 0, found["states"]["keys"]
    assert found["states"]["equal"] >= 3
    known = revisions(stack)
    assert known[OURS] | {"records_behind": 0} == {
        "revision": OURS,
        "decides": True,
        "workers": "of this stack",
        "records_behind": 0,
        "group": APP_ID,
        "outputs": REORDER_EVENTS,
        "changes": CHANGES[OURS],
    }
    assert known[SAME]["workers"] == "shadow ready"
    assert not known[SAME]["decides"]
    assert (stack.home.path / "workers" / application_id(SAME)).is_dir()
    assert {row[1] for row in desk(stack, shop).values()} == {OURS}

    assert stack.cli("revision", "retire", str(SAME)).returncode == 0
    sell(stack, shop, "B", 1)
    # A stopped worker stays in the group until its session times out.
    stack.wait_until(lambda: not members(stack.settings.kafka_bootstrap, SAME))
    refused = stack.cli("revision", "promote", str(SAME))

    assert refused.returncode == 1
    assert f"repair: inventory revision start {SAME} --code " in refused.stderr
    assert revisions(stack)[OURS]["decides"]
    die_in_group(stack, application_id(SAME))
    retired = stack.cli("revision", "retire", str(SAME), "--delete")
    assert retired.returncode == 0, retired.stderr
    assert {drift.found for drift in topic_drift(
        stack.settings.kafka_bootstrap, topics_of(SAME)
    )} == {"missing"}  # fmt: skip
    assert SAME not in revisions(stack)


@pytest.mark.soak
def test_proposals_of_other_rules_reach_the_desk_only_after_promotion(
    stack: RunningStack, shop: Shop, tmp_path: Path
) -> None:
    tree = code_of(OTHER, tmp_path / "other", more_units=6)
    before = desk(stack, shop)
    units = before["C"][0]
    started = stack.cli("revision", "start", str(OTHER), "--code", str(tree), "--workers", "2")
    assert started.returncode == 0, started.stderr

    found = report(stack, "compare", str(OTHER), exit_code=1)

    ours = [entry for entry in found["differences"] if entry["inv_key"] == f"{shop.location}|C"]
    assert [(entry["how"], entry["former"]["quantity_units"], entry["fresh"]["quantity_units"])
            for entry in ours] == [("changed", units, units + 6)]  # fmt: skip
    assert "quantity_units" in ours[0]["fields"]
    refused = stack.cli("revision", "promote", str(OTHER))
    assert refused.returncode == 1
    assert re.search(rf"from {OURS} in {found['differing']} keys?, and no", refused.stderr)
    agree(stack, shop, {(entry["kind"], entry["inv_key"]) for entry in found["differences"]})
    assert desk(stack, shop) == before
    with pytest.raises(StackError, match=f"logic revision {OURS} decides"):
        retire(stack.home, stack.settings, OURS, delete=False)

    report(stack, "promote", str(OTHER), "--approval", DIGEST[::-1], "--by", "analyst")

    assert desk(stack, shop) == {
        sku: (quantity + 6, OTHER) for sku, (quantity, _) in before.items()
    }
    assert revisions(stack)[OTHER]["decides"]
    sell(stack, shop, "B", 95)
    stack.wait_until(lambda: "B" in desk(stack, shop))
    assert {made_by for _, made_by in desk(stack, shop).values()} == {OTHER}
    larger = desk(stack, shop)
    assert is_verified(stack, shop)

    back = stack.cli("backfill", "rollback", "--json")
    assert back.returncode == 0, back.stderr

    assert desk(stack, shop) == {sku: (quantity - 6, OURS) for sku, (quantity, _) in larger.items()}
    assert verify(shop.location, settings=stack.settings).exit_code == 0
    sell(stack, shop, "A", 95)
    stack.wait_until(lambda: desk(stack, shop).get("A", (0, 0))[1] == OURS)


def restart_worker(stack: RunningStack, revision: int) -> None:
    """Kill the revision's worker. The supervisor restarts it from the revision's source tree."""
    name, home = f"shadow-v{revision}-1", shadow.home_of(stack.home, revision)
    pid = read_runtime(home).services[name].pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    stack.wait_until(lambda: read_runtime(home).services[name].pid not in (None, pid))


@pytest.mark.soak
def test_a_cutover_to_a_worker_with_edited_rules_is_refused(
    stack: RunningStack, shop: Shop, tmp_path: Path
) -> None:
    tree = code_of(OTHER, tmp_path / "edited", more_units=6)
    started = stack.cli("revision", "start", str(OTHER), "--code", str(tree))
    assert started.returncode == 0, started.stderr
    found = report(stack, "compare", str(OTHER), exit_code=1)
    approve(stack, shop, EDITED, {(one["kind"], one["inv_key"]) for one in found["differences"]})
    rules = tree / "inventory" / "replenishment" / "quantity.py"
    approved = rules.read_text("utf-8")

    rules.write_text(approved.replace("base_units + 6", "base_units + 60"), "utf-8")
    again = stack.cli("revision", "start", str(OTHER), "--code", str(tree))
    restart_worker(stack, OTHER)
    watched = stack.cli("backfill", "shadow", str(OTHER), "--approval", EDITED, "--rounds", "1")
    refused = stack.cli("backfill", "cutover", str(OTHER), "--approval", EDITED)

    assert again.returncode == 1
    assert f"the state of logic revision {OTHER} was written by rules" in again.stderr
    for done in (watched, refused):
        assert done.returncode == 1
        assert f"is for rules {shadow.code_of(stack.home, OTHER)}, but shadow-v{OTHER}-1 runs " in (
            done.stderr
        )
        assert f"repair: inventory revision retire {OTHER} --delete" in done.stderr
    assert revisions(stack)[OURS]["decides"]

    rules.write_text(approved, "utf-8")
    restart_worker(stack, OTHER)
    switched = stack.cli("backfill", "cutover", str(OTHER), "--approval", EDITED)
    assert switched.returncode == 0, switched.stderr
    back = stack.cli("backfill", "rollback")
    assert back.returncode == 0, back.stderr

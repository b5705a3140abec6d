"""Publication and slot are destroyed while sales continue.

The doctor names the damage, a start is refused, and the printed commands repair it. Uses a separate
stack, because its log is captured again.
"""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import psycopg
import pytest

from cdc.capture.client import PUBLICATION, SLOT, client_of
from cdc.capture.source import TABLES
from tests.analytics.shop import Shop
from tests.stack.repairing import run_as_printed
from tests.stack.running import RunningStack, run_inventory, start
from tests.stack.test_revisions import sell

pytestmark = pytest.mark.soak

PARTS: Final = (
    "postgres,kafka,connect,migrate,topics,connector,worker-1,projector,heartbeat,capture"
)
AGAIN: Final = f"CREATE PUBLICATION {PUBLICATION} FOR TABLE " + ", ".join(
    f"retail.{table}" for table in TABLES
)
ON_HAND: Final = "SELECT on_hand_units FROM read_model.stock WHERE inv_key = %s"
FREE: Final = "SELECT NOT active FROM pg_replication_slots WHERE slot_name = %s"
TRADED: Final = 70  # units of item A after `Shop.trade`
SOLD: Final = 7
SHORT: Final = 3  # most lines of a message that refuses a start


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStack]:
    """One worker, and the services that a comparison needs."""
    home = tmp_path_factory.mktemp("repairs") / "home"
    try:
        yield start(home, "--workers", "1", "--only", PARTS)
    finally:
        run_inventory("down", home=home)


def rows(own: RunningStack) -> dict[str, dict[str, Any]]:
    """Return the doctor's rows by name."""
    return {row["name"]: row for row in json.loads(own.cli("doctor", "--json").stdout)}


def connector(own: RunningStack) -> str:
    client = client_of(own.environment, timeout_s=30)
    try:
        return client.state().connector
    finally:
        client.close()


def execute(own: RunningStack, statement: str, *values: object, role: str = "retail_owner") -> Any:
    port, secrets = own.runtime.ports["postgres"], own.home.secrets()
    url = f"postgresql://{role}:{secrets[role]}@127.0.0.1:{port}/retail"
    with psycopg.connect(url, autocommit=True) as connection:
        done = connection.execute(statement.encode(), values)
        return done.fetchone() if done.description else None


@dataclass(frozen=True)
class Destroyed:
    """All reports about a capture that lost publication and slot.

    `reports` are four states of the doctor's rows: publication dropped, publication created again,
    slot dropped too, and stack down.
    """

    shop: Shop
    reports: list[dict[str, dict[str, Any]]]
    problem: str
    refused: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def destroyed(own: RunningStack) -> Destroyed:
    """Sell without a publication, so that the log never gets the sale. Return the reports."""
    shop = Shop(own.environment["INVENTORY_OWNER_DATABASE_URL"])
    shop.trade()
    own.wait_until(lambda: execute(own, ON_HAND, f"{shop.location}|A") == (TRADED,))
    execute(own, "ALTER TABLE retail.sale_line REPLICA IDENTITY DEFAULT")
    execute(own, f"DROP PUBLICATION {PUBLICATION}")
    sell(own, shop, "A", SOLD)
    own.wait_until(lambda: connector(own) == "STOPPED" and execute(own, FREE, SLOT) == (True,))
    reports = [rows(own)]
    execute(own, AGAIN)
    reports.append(rows(own))
    own.wait_until(lambda: execute(own, FREE, SLOT) == (True,))
    execute(own, "SELECT pg_drop_replication_slot(%s)", SLOT, role="postgres")
    reports.append(rows(own))
    problem = json.loads(own.cli("status", "--json").stdout)["connector"]["problem"]
    own.cli("down")
    refused = own.cli("up", "--detach", "--workers", "1", "--only", PARTS)
    reports.append(rows(own))
    return Destroyed(shop, reports, problem, refused)


def test_doctor_status_and_a_refused_start_name_the_capture_damage(destroyed: Destroyed) -> None:
    dropped, again, lost, _ = destroyed.reports
    said = destroyed.refused.stderr

    assert dropped["publication"]["found"] == "does not exist"
    assert dropped["replica identity"]["found"] == "not FULL: sale_line"
    assert dropped["connector"]["verdict"] == "failure"
    assert again["publication"]["found"] == "was changed or created again"
    assert lost["slot"]["found"] == f"{SLOT} does not exist"
    assert destroyed.problem.startswith("publication ")
    assert destroyed.refused.returncode == 1
    assert f"publication {PUBLICATION} was changed" in said
    assert "\tat " not in said
    assert len(said.splitlines()) <= SHORT


def test_the_printed_capture_repair_recovers_every_sale(
    own: RunningStack, destroyed: Destroyed
) -> None:
    dropped, again, lost, failed = destroyed.reports
    named = [dropped[name] for name in ("publication", "connector", "slot", "replica identity")]
    named += [again["publication"], lost["slot"], failed["stack"]]
    [repair] = {row["repair"] for row in named}
    assert f"repair: {repair}" in destroyed.refused.stderr

    done = run_as_printed(own, repair)

    assert done.returncode == 0, done.stdout + done.stderr
    checked = own.cli("verify", "--json")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    found = execute(own, ON_HAND, f"{destroyed.shop.location}|A")
    assert found == (TRADED - SOLD,)
    well = rows(own)
    names = ("publication", "slot", "connector", "replica identity")
    assert {well[name]["verdict"] for name in names} == {"ok"}

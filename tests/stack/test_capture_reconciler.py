"""The capture service repairs the connector without a person. A deliberate pause stays."""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

import httpx
import psycopg
import pytest
from psycopg import sql

from cdc.capture.client import ACCOUNT, CONNECTOR, ConnectClient, client_of
from cdc.capture.reconciler import config_of
from tests.analytics.shop import Shop
from tests.stack.running import RunningStack

PATH: Final = f"/connectors/{CONNECTOR}"
SOLD: Final = "SELECT count(*) FROM read_model.stock WHERE location = %s"
REPORT: Final = "SELECT detail FROM read_model.service_heartbeat WHERE service = 'capture'"
CHANGED: Final = {"poll.interval.ms": "5000"}


@pytest.fixture
def client(stack: RunningStack) -> Iterator[ConnectClient]:
    found = client_of(stack.environment, timeout_s=30)
    yield found
    found.close()


def well(stack: RunningStack, client: ConnectClient) -> bool:
    wanted = config_of(stack.environment["INVENTORY_DATABASE_URL"])
    try:
        return client.state().running and client.current_config() == wanted
    except httpx.HTTPStatusError:
        return False  # Connect answers 500 while it replaces a configuration


def report(stack: RunningStack) -> dict[str, Any]:
    """Return the reconciler's report about its last comparison."""
    url = stack.environment["INVENTORY_READ_DATABASE_URL"]
    with psycopg.connect(url, autocommit=True) as connection:
        [(found,)] = connection.execute(REPORT).fetchall()
    return dict(found)


def repairs(stack: RunningStack) -> int:
    return int(report(stack)["repairs"])


def rest(stack: RunningStack, method: str, path: str, body: Any = None) -> None:
    url = stack.environment["INVENTORY_CONNECT_URL"]
    account = (ACCOUNT, stack.environment["INVENTORY_CONNECT_PASSWORD"])
    httpx.request(method, url + path, json=body, auth=account, timeout=60).raise_for_status()


def change(stack: RunningStack, _client: ConnectClient) -> None:
    wanted = config_of(stack.environment["INVENTORY_DATABASE_URL"])
    rest(stack, "PUT", f"{PATH}/config", wanted | CHANGED)


def call(method: str, path: str) -> Callable[[RunningStack, ConnectClient], None]:
    return lambda stack, _client: rest(stack, method, path)


FAULTS: Final[dict[str, Callable[[RunningStack, ConnectClient], None]]] = {
    "paused": call("PUT", f"{PATH}/pause"),
    "stopped": call("PUT", f"{PATH}/stop"),
    "deleted": call("DELETE", PATH),
    "changed": change,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_connector_that_differs_from_its_definition_is_repaired(
    stack: RunningStack, client: ConnectClient, fault: str
) -> None:
    stack.wait_until(lambda: well(stack, client))
    before = repairs(stack)

    FAULTS[fault](stack, client)
    stack.wait_until(lambda: repairs(stack) > before and well(stack, client), client.state)


def test_a_failed_connector_task_is_restarted_and_no_sale_is_lost(
    stack: RunningStack, client: ConnectClient
) -> None:
    secrets = stack.home.secrets()
    port = stack.runtime.ports["postgres"]
    superuser = f"postgresql://postgres:{secrets['postgres']}@127.0.0.1:{port}/retail"
    shop = Shop(stack.environment["INVENTORY_OWNER_DATABASE_URL"])

    def let_in(password: str) -> None:
        with psycopg.connect(superuser, autocommit=True) as connection:
            statement = sql.SQL("ALTER ROLE cdc PASSWORD {}").format(sql.Literal(password))
            connection.execute(statement)

    try:
        let_in("another")
        rest(stack, "POST", f"{PATH}/restart?includeTasks=true")
        stack.wait_until(lambda: client.state().failed, client.state)
        shop.trade()
    finally:
        let_in(secrets["cdc"])
    stack.wait_until(lambda: well(stack, client), client.state)

    url = stack.environment["INVENTORY_READ_DATABASE_URL"]
    with psycopg.connect(url, autocommit=True) as connection:
        stack.wait_until(lambda: connection.execute(SOLD, (shop.location,)).fetchone() == (3,))
    assert report(stack)["repaired"] == "restarted"


def test_a_deliberate_capture_pause_lasts_until_the_printed_repair_command(
    stack: RunningStack, client: ConnectClient
) -> None:
    assert stack.cli("capture", "pause").returncode == 0
    stack.wait_until(lambda: report(stack)["paused_by"] != "")
    before = repairs(stack)
    rest(stack, "PUT", f"{PATH}/resume")
    stack.wait_until(lambda: repairs(stack) > before, client.state)
    stack.wait_until(lambda: client.state().connector == "PAUSED", client.state)
    rows = {row["name"]: row for row in json.loads(stack.cli("doctor", "--json").stdout)}

    assert rows["connector"]["verdict"] == "warning"
    program, *arguments = rows["connector"]["repair"].split()
    assert program == "inventory"
    assert stack.cli(*arguments).returncode == 0
    assert well(stack, client)
    stack.wait_until(lambda: report(stack)["paused_by"] == "")
    assert report(stack)["problem"] == ""

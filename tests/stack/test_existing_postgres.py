"""The steps of docs/how-to/connect-an-existing-postgres.md work on real services.

A stack of Postgres, broker and Connect alone replaces the existing services of a reader.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psycopg
import pytest

from deploy.stack.bootstrap import ROLES
from deploy.stack.ports import free_port
from tests.howto.steps import apply, blocks, edits
from tests.stack.running import COMMAND_S, RunningStack, run_inventory, start

PAGE = "connect-an-existing-postgres.md"
STOCK = "SELECT on_hand_units FROM read_model.stock WHERE inv_key = 'LYON-1|TEA'"


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStack]:
    """Postgres, broker and Connect without any table, topic or connector of this project."""
    home = tmp_path_factory.mktemp("existing") / "home"
    try:
        yield start(home, "--only", "postgres,kafka,connect")
    finally:
        run_inventory("down", home=home)


def values_of(services: RunningStack) -> dict[str, str]:
    """Return what a reader types into `existing.env`."""
    secrets = services.home.secrets()
    roles = {f"{role.upper()}_PASSWORD": secrets[role] for role in ("postgres", *ROLES)}
    given = services.environment
    names = ("KAFKA_BOOTSTRAP", "CONNECT_URL", "CONNECT_PASSWORD", "QUERY_TOKEN", "SECRET_KEY")
    return roles | {
        **{f"INVENTORY_{name}": given[f"INVENTORY_{name}"] for name in names},
        "POSTGRES_HOST": "127.0.0.1",
        "POSTGRES_PORT": str(services.runtime.ports["postgres"]),
    }


def write_variables(folder: Path, values: dict[str, str]) -> None:
    """Write `existing.env` as on the page, with these values."""
    [edit] = edits(PAGE)
    apply(folder, edit)
    file = folder / edit.path
    text = file.read_text()
    for name, found in values.items():
        line = re.compile(rf"^export {name}=.*$", re.MULTILINE)
        text, count = line.subn(f"export {name}={found}", text)
        assert count == 1, f"{edit.path} has no line for {name}"
    file.write_text(text)


def environment(port: int) -> dict[str, str]:
    """Return this process's variables without those of another stack."""
    own = {name: found for name, found in os.environ.items() if not name.startswith("INVENTORY_")}
    return own | {"INVENTORY_WORKER_PORT": str(port)}


def script(block: str) -> str:
    return block.replace(".venv/bin/python", sys.executable)


@contextmanager
def running(folder: Path, block: str, port: int) -> Iterator[None]:
    """Run the programs of a block until the test ends."""
    with (folder / "log").open("wb") as log:
        group = subprocess.Popen(  # noqa: S603 -- programs of our own page
            ["bash", "-c", f". ./existing.env\n{script(block)}wait"],  # noqa: S607 -- any bash
            cwd=folder,
            env=environment(port),
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            yield
        finally:
            os.killpg(group.pid, signal.SIGTERM)
            group.wait(COMMAND_S)


@pytest.mark.soak  # services of its own
def test_a_sale_in_a_table_of_an_existing_postgres_changes_stock(
    services: RunningStack, tmp_path: Path
) -> None:
    values, port = values_of(services), free_port()
    write_variables(tmp_path, values)
    _try, setup, programs = blocks(PAGE, "sh")
    tables, trigger, sale = blocks(PAGE, "sql")

    done = subprocess.run(  # noqa: S603 -- commands of our own page
        ["bash", "-ec", script(setup)],  # noqa: S607 -- any bash
        cwd=tmp_path,
        env=environment(port),
        capture_output=True,
        text=True,
        timeout=COMMAND_S,
        check=False,
    )

    assert done.stdout == "database, topics and connector are ready\n", done.stderr
    address = f"postgresql://postgres:{values['POSTGRES_PASSWORD']}@127.0.0.1"
    database = f"{address}:{values['POSTGRES_PORT']}/retail"
    with (
        running(tmp_path, programs, port),
        psycopg.connect(database, autocommit=True) as connection,
    ):
        for statements in (tables, trigger, sale):
            connection.execute(statements)
        services.wait_until(
            lambda: connection.execute(STOCK).fetchone() == (-3,),
            describe=lambda: (tmp_path / "log").read_text()[-2000:],
        )
        answer = httpx.get(
            f"http://127.0.0.1:{port}/iq/v1/store/on-hand/LYON-1%7CTEA",
            headers={"Authorization": f"Bearer {values['INVENTORY_QUERY_TOKEN']}"},
        )
    assert answer.json()["on_hand_units"] == -3

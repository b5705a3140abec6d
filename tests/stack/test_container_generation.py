"""A new generation with containers: the commands of docker-compose.yml, run as plain processes.

Needs no container engine. Each process gets exactly the variables of its service, with the
addresses of a local Postgres, broker and Connect. Uses a separate stack of these three.
"""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
import yaml

from cdc.capture.client import PUBLICATION
from deploy.container.setup import CAPTURE_AGAIN
from deploy.stack.home import PROJECT
from tests.analytics.shop import Shop
from tests.processes import end
from tests.stack.running import COMMAND_S, RunningStack, run_inventory, start
from tests.stack.test_revisions import sell

pytestmark = pytest.mark.soak

PARTS: Final = "postgres,kafka,connect,migrate,topics,connector"
SERVICES: Final = ("worker-1", "projector", "actuator", "heartbeat")
ON_HAND: Final = "SELECT on_hand_units FROM read_model.stock WHERE inv_key = %s"
TRADED: Final = 70  # units of item A after `Shop.trade`
SOLD: Final = 7
_REFERENCE: Final = re.compile(r"\$\{(\w+)(?::\?|:-)([^}]*)\}")


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStack]:
    """Postgres, broker and Connect."""
    home = tmp_path_factory.mktemp("containers") / "home"
    try:
        yield start(home, "--only", PARTS)
    finally:
        run_inventory("down", home=home)


def free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


@dataclass(frozen=True)
class Compose:
    """The services of docker-compose.yml as processes of this machine."""

    own: RunningStack
    volume: Path
    worker_port: int

    def service(self, name: str) -> dict[str, Any]:
        found = yaml.safe_load((PROJECT / "docker-compose.yml").read_text(encoding="utf-8"))
        return dict(found["services"][name])

    def environment(self, name: str) -> dict[str, str]:
        """Return the variables of a service, with the addresses of this machine."""
        secrets = self.own.home.secrets()
        known = {f"{role.upper()}_PASSWORD": text for role, text in secrets.items()}
        known |= {
            "INVENTORY_CONNECT_PASSWORD": secrets["connect"],
            "INVENTORY_QUERY_TOKEN": secrets["query_token"],
            "INVENTORY_SECRET_KEY": secrets["secret_key"],
        }
        port = str(self.own.runtime.ports["postgres"])
        places = {
            "postgres:5432": f"127.0.0.1:{port}",
            "kafka:9092": self.own.environment["INVENTORY_KAFKA_BOOTSTRAP"],
            "http://connect:8083": self.own.environment["INVENTORY_CONNECT_URL"],
            "/var/lib/inventory": str(self.volume),
            "http://worker-1:6066,http://worker-2:6066": f"http://127.0.0.1:{self.worker_port}",
        }
        inherited = {
            key: text for key, text in os.environ.items() if not key.startswith("INVENTORY_")
        }
        found = inherited | {"POSTGRES_PORT": port}
        for key, text in self.service(name)["environment"].items():
            value = _REFERENCE.sub(lambda match: known.get(match[1], match[2]), text)
            for container, here in places.items():
                value = value.replace(container, here)
            found[key] = value
        local = {"POSTGRES_HOST": "127.0.0.1", "INVENTORY_WORKER_PORT": str(self.worker_port)}
        return found | {key: text for key, text in local.items() if key in found}

    def run(self, name: str, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a service as `docker compose run --rm NAME [COMMAND …]` does. Return its result."""
        return subprocess.run(  # noqa: S603 -- commands of our own compose file
            self.program(command or tuple(self.service(name)["command"])),
            cwd=PROJECT,
            env=self.environment(name),
            capture_output=True,
            text=True,
            timeout=COMMAND_S,
            check=False,
        )

    @contextmanager
    def started(self, name: str) -> Iterator[None]:
        """Run a service until the end of the block."""
        with (self.volume / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(  # noqa: S603 -- as above
                self.program(self.service(name)["command"]),
                cwd=PROJECT,
                env=self.environment(name),
                stdout=log,
                stderr=log,
            )
        try:
            yield
        finally:
            end(process)

    def program(self, command: Any) -> list[str]:
        """Return the command with this checkout's `python` and `inventory`."""
        mine = {"inventory": str(Path(sys.executable).with_name("inventory"))}
        return [{"python": sys.executable, **mine}.get(part, part) for part in command]


def execute(own: RunningStack, statement: str, *values: object) -> Any:
    port, secrets = own.runtime.ports["postgres"], own.home.secrets()
    url = f"postgresql://retail_owner:{secrets['retail_owner']}@127.0.0.1:{port}/retail"
    with psycopg.connect(url, autocommit=True) as connection:
        done = connection.execute(statement.encode(), values)
        return done.fetchone() if done.description else None


def test_a_dropped_publication_is_repaired_by_the_command_that_the_setup_prints(
    own: RunningStack, tmp_path: Path
) -> None:
    compose = Compose(own, tmp_path, free_port())
    shop = Shop(own.environment["INVENTORY_OWNER_DATABASE_URL"])
    shop.trade()
    execute(own, f"DROP PUBLICATION {PUBLICATION}")
    sell(own, shop, "A", SOLD)

    refused = compose.run("setup")
    done = compose.run("generation")
    again = compose.run("setup")
    with ExitStack() as services:
        for name in SERVICES:
            services.enter_context(compose.started(name))
        verified = compose.run("tools", "inventory", "verify", "--json")
        beside = compose.run("generation")
    logs = {name: (tmp_path / f"{name}.log").read_text()[-2000:] for name in SERVICES}

    assert refused.returncode == 1
    assert "publication retail_cdc does not exist" in refused.stderr
    assert f"repair: {CAPTURE_AGAIN}" in refused.stderr
    assert "docker compose run --rm generation" in CAPTURE_AGAIN
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "generation 2 is captured" in done.stdout
    assert again.returncode == 0, again.stderr
    assert verified.returncode == 0, verified.stdout + verified.stderr + str(logs)
    assert execute(own, ON_HAND, f"{shop.location}|A") == (TRADED - SOLD,)
    assert beside.returncode == 1
    assert "nothing was changed" in beside.stderr
    assert "repair: docker compose stop worker-1" in beside.stderr

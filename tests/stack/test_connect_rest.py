"""Connect's REST interface requires the password, and then shows no secret of another part."""

import json
from pathlib import Path
from typing import Final

import httpx
import pytest

from cdc.capture.client import ACCOUNT, CONNECTOR, connector_config
from deploy.stack.home import Home
from tests.stack.running import RunningStack

VALIDATE: Final = "/connector-plugins/PostgresConnector/config/validate"
FILES: Final = "org.apache.kafka.common.config.provider.FileConfigProvider"
CLOSED: Final = (
    *(("GET", path) for path in ("/", "/health", "/connectors", "/connector-plugins")),
    *(("GET", f"/connectors/{CONNECTOR}/{part}") for part in ("config", "status", "offsets")),
    *(("PUT", f"/connectors/{CONNECTOR}/{part}") for part in ("config", "pause", "stop", "resume")),
    ("POST", "/connectors"),
    ("POST", f"/connectors/{CONNECTOR}/restart"),
    ("DELETE", f"/connectors/{CONNECTOR}"),
    ("DELETE", f"/connectors/{CONNECTOR}/offsets"),
    ("PUT", VALIDATE),
    ("GET", "/admin/loggers"),
    ("PUT", "/admin/loggers/root"),
)
# Connect's workers call each other at these paths, with a signature instead of a password.
SIGNED: Final = (
    ("POST", f"/connectors/{CONNECTOR}/tasks"),
    ("PUT", f"/connectors/{CONNECTOR}/fence"),
)
WRONG: Final = (None, (ACCOUNT, "wrong"), (ACCOUNT, ""), ("", ""))
LOOPBACK: Final = "0100007F"
LISTENS: Final = "0A"


def client_of(stack: RunningStack, account: tuple[str, str] | None) -> httpx.Client:
    url = stack.environment["INVENTORY_CONNECT_URL"]
    # Connect may refuse a request and close the connection before it has read the body. So the
    # client must not reuse the connection.
    closing = {"Connection": "close"}
    return httpx.Client(base_url=url, timeout=60, auth=account, headers=closing)


def validated(stack: RunningStack, **changes: str) -> str:
    """Return the text of Connect's validation of our configuration with these changes."""
    account = (ACCOUNT, stack.environment["INVENTORY_CONNECT_PASSWORD"])
    config = connector_config("127.0.0.1", stack.runtime.ports["postgres"])
    body = {"name": CONNECTOR, **config, **changes}
    with client_of(stack, account) as client:
        return client.put(VALIDATE, json=body).text


def revealed(home: Home, answer: str) -> set[str]:
    return {name for name, value in home.secrets().items() if value in answer}


def connect_environment(stack: RunningStack) -> dict[str, str]:
    pid = stack.runtime.services["connect"].pid
    entries = Path(f"/proc/{pid}/environ").read_text(encoding="utf-8").split("\0")
    return dict(entry.split("=", 1) for entry in entries if entry)


@pytest.mark.parametrize("account", WRONG, ids=("none", "wrong", "empty", "nobody"))
def test_every_connect_rest_request_requires_the_password(
    stack: RunningStack, account: tuple[str, str] | None
) -> None:
    with client_of(stack, account) as client:
        asked = {request: client.request(*request, json={}).status_code for request in CLOSED}
        signed = [client.request(*request, json=[]) for request in SIGNED]

    assert asked == dict.fromkeys(CLOSED, 401)
    assert [answer.status_code for answer in signed] == [400, 400]
    assert all("missing required signature" in answer.text for answer in signed)


def test_the_connect_rest_interface_listens_on_loopback_only(stack: RunningStack) -> None:
    port = f"{stack.runtime.ports['connect']:04X}"
    sockets = [
        (*line.split()[1].split(":"), line.split()[3])
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text(encoding="utf-8").splitlines()[1:]
    ]
    hosts = [host for host, at, state in sockets if (at, state) == (port, LISTENS)]

    assert hosts
    assert all(host.endswith(LOOPBACK) for host in hosts)


def test_connect_resolves_no_environment_variable_except_its_password(stack: RunningStack) -> None:
    ours = connect_environment(stack)
    names = sorted({*stack.environment, *ours} - {"CDC_PASSWORD"})
    asked = "".join(f"/${{env:{name}}}" for name in names)

    # Connect's message about an invalid value contains the value with all references resolved.
    said = validated(stack, **{"topic.prefix": asked})

    assert {"PATH", "INVENTORY_SECRET_KEY", "INVENTORY_OWNER_DATABASE_URL"} <= {*names}
    assert asked in said
    assert revealed(stack.home, said) == set()


@pytest.mark.parametrize("provider", ["file", "directory", "mine"])
def test_connect_reads_no_file_for_a_rest_client(stack: RunningStack, provider: str) -> None:
    file = stack.home.config / "connect-credentials.properties"
    path = file.parent if provider == "directory" else file
    key = file.name if provider == "directory" else ACCOUNT
    own = {"config.providers": "mine", "config.providers.mine.class": FILES}

    said = validated(
        stack,
        **(own if provider == "mine" else {}),
        **{"topic.prefix": f"/${{{provider}:{path}:{key}}}"},
    )

    assert f"{ACCOUNT}={stack.home.secrets()['connect']}" in file.read_text(encoding="utf-8")
    assert revealed(stack.home, said) == set()
    assert ("is not allowed" in said) is (provider == "mine")


def test_connect_has_only_the_cdc_secret_in_its_environment(stack: RunningStack) -> None:
    ours, secrets = connect_environment(stack), stack.home.secrets()
    known = {name for name, value in secrets.items() if value in json.dumps(ours)}

    assert known == {"cdc"}
    assert not [name for name in ours if name.startswith("INVENTORY_")]
    assert (stack.home.config / "connect-credentials.properties").stat().st_mode & 0o077 == 0

"""Kafka Connect, distributed: standalone would forget connectors made through REST."""

from typing import Final

from cdc.capture.client import ConnectClient
from deploy.parts import CONNECT, CONNECT_HEAP, LOCAL_CONNECT
from deploy.stack.context import Context
from deploy.stack.service import Service
from deploy.stack.services import jvm

_MAIN: Final = "org.apache.kafka.connect.cli.ConnectDistributed"


def worker_properties(context: Context) -> dict[str, str]:
    """The complete configuration of the local Connect worker."""
    artifacts, _ = jvm.parts_of(context)
    return (
        {
            "bootstrap.servers": context.kafka_bootstrap,
            "plugin.path": str(artifacts.plugins),
            "listeners": context.connect_url,
        }
        | CONNECT
        | LOCAL_CONNECT
    )


def prepare(context: Context) -> None:
    """Write the configuration."""
    jvm.write_config(context, "connect-distributed.properties", worker_properties(context))


def service(context: Context) -> Service:
    """Definition of the Connect process; only it gets the password of the role `cdc`."""
    config = context.home.config / "connect-distributed.properties"
    return Service(
        name="connect",
        command=jvm.command(context, "connect", CONNECT_HEAP, (_MAIN, str(config))),
        environment=context.environment(CDC_PASSWORD=context.secrets["cdc"]),
        directory=context.home.path,
        ready=lambda _pid: healthy(context.connect_url),
        stop_rank=2,
        port=context.ports["connect"],
        url=context.connect_url,
    )


def healthy(url: str) -> bool:
    """Whether Connect answers `GET /health` with 200."""
    client = ConnectClient(url, timeout_s=2.0)
    try:
        return client.healthy()
    finally:
        client.close()

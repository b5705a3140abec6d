"""Kafka Connect in distributed mode.

In standalone mode, Connect would lose connectors that were created by its REST API.
"""

from pathlib import Path
from typing import Final

from cdc.capture.client import ACCOUNT
from deploy.parts import CONNECT, CONNECT_HEAP, CONNECT_JVM, LOCAL_CONNECT, jaas_config
from deploy.stack.context import Context
from deploy.stack.probes import connect_ready, http_alive
from deploy.stack.service import Service
from deploy.stack.services import jvm

_MAIN: Final = "org.apache.kafka.connect.cli.ConnectDistributed"


def worker_properties(context: Context) -> dict[str, str]:
    """Return the complete configuration of the local Connect worker."""
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
    """Write the configuration and the login files of the REST API.

    The file with the password has mode 0600.
    """
    jvm.write_config(context, "connect-distributed.properties", worker_properties(context))
    accounts = {ACCOUNT: context.secrets["connect"]}
    credentials = jvm.write_config(context, "connect-credentials.properties", accounts)
    _login(context).write_text(jaas_config(str(credentials)), encoding="utf-8")


def _login(context: Context) -> Path:
    return context.home.config / "connect-jaas.conf"


def service(context: Context) -> Service:
    """Return the definition of the Connect process.

    No other process of the stack gets the password of the role `cdc`.
    """
    config = context.home.config / "connect-distributed.properties"
    flags = (*CONNECT_JVM, f"-Djava.security.auth.login.config={_login(context)}")
    return Service(
        name="connect",
        command=jvm.command(context, "connect", (CONNECT_HEAP, *flags), (_MAIN, str(config))),
        environment=jvm.environment(CDC_PASSWORD=context.secrets["cdc"]),
        directory=context.home.path,
        ready=lambda _pid: connect_ready(context.connect_url, context.secrets["connect"]),
        alive=lambda _pid: http_alive(context.connect_url),
        stop_rank=2,
        port=context.ports["connect"],
        url=context.connect_url,
    )

"""The broker: one node of KRaft, which is broker and controller."""

import base64
import subprocess
import uuid

from cdc.capture.admin import broker_answers
from deploy.errors import StackError
from deploy.parts import BROKER, BROKER_HEAP, LOCAL_BROKER
from deploy.stack.context import HOST, Context
from deploy.stack.service import Service
from deploy.stack.services import jvm


def server_properties(context: Context) -> dict[str, str]:
    """Return the complete configuration of the local broker."""
    port, controller = context.ports["kafka"], context.ports["kafka_controller"]
    listeners = f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller}"
    return (
        {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.bootstrap.servers": f"{HOST}:{controller}",
            "listeners": listeners,
            "advertised.listeners": listeners,
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "log.dirs": str(context.home.kafka),
        }
        | BROKER
        | LOCAL_BROKER
    )


def prepare(context: Context) -> None:
    """Write the configuration and, on the first start, format the broker's log directory."""
    config = jvm.write_config(context, "server.properties", server_properties(context))
    context.home.kafka.mkdir(exist_ok=True)
    context.home.kafka.chmod(0o700)  # it has all facts; other accounts can enter the home
    if (context.home.kafka / "meta.properties").exists():
        return
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    # The tool would read a value with a leading dash as an option.
    cluster = cluster.replace("-", "A", 1) if cluster.startswith("-") else cluster
    tool = ("kafka.tools.StorageTool", "format", "--standalone", "-g", "-t", cluster)
    command = jvm.command(context, "broker", ("-Xmx128m",), (*tool, "-c", str(config)))
    result = subprocess.run(  # noqa: S603 -- fixed arguments
        command,
        env=jvm.environment(),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if result.returncode:
        output = (result.stdout + result.stderr)[-800:].strip()
        message = f"formatting {context.home.kafka} failed: {output}\nNo data was written or lost."
        raise StackError(message, repair="inventory up --detach")


def service(context: Context) -> Service:
    """Return the definition of the broker process."""
    config = context.home.config / "server.properties"
    return Service(
        name="kafka",
        command=jvm.command(context, "broker", (BROKER_HEAP,), ("kafka.Kafka", str(config))),
        environment=jvm.environment(),
        directory=context.home.path,
        ready=lambda _pid: broker_answers(context.kafka_bootstrap),
        alive=lambda _pid: broker_answers(context.kafka_bootstrap),
        stop_rank=3,
        port=context.ports["kafka"],
        url=context.kafka_bootstrap,
    )

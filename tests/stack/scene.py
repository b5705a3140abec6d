"""A running stack with a shop in it, on which tests cause failures."""

import os
import shutil
import signal
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

import psycopg
from confluent_kafka import Producer

from cdc.contracts.topics import APP_ID
from deploy.stack import service_commands
from deploy.stack.context import WORKER_PREFIX
from deploy.stack.requested import read_requested, write_requested
from tests.analytics.shop import Shop
from tests.stack.running import RunningStack


@dataclass(frozen=True)
class Scene:
    """The stack and its shop.

    A test causes a failure, and then runs the repair commands that `inventory doctor` prints.
    `outside` holds clean-ups of causes that no command of the project can end. They run before the
    printed commands. `beside` holds the other clean-ups. They run after the test, because the
    printed commands must work while these causes continue.
    """

    own: RunningStack
    shop: Shop
    outside: ExitStack = field(default_factory=ExitStack)
    beside: ExitStack = field(default_factory=ExitStack)

    def execute(self, statement: str, **values: object) -> None:
        port, secrets = self.own.runtime.ports["postgres"], self.own.home.secrets()
        url = f"postgresql://postgres:{secrets['postgres']}@127.0.0.1:{port}/retail"
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(statement.encode(), values or None)

    @property
    def bootstrap(self) -> str:
        return self.own.settings.kafka_bootstrap

    def produce(self, topic: str, partition: int, key: bytes, *values: bytes) -> None:
        """Write these records into a topic as another program would."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "acks": "all"})
        for value in values:
            producer.produce(topic, value, key, partition=partition)
        assert producer.flush(60) == 0

    def suspend(self, *services: str) -> None:
        """Suspend these services, and exempt them from the supervisor's repairs."""
        for name in services:
            service_commands.hold(self.own.home, name)
            self.send(signal.SIGSTOP, name)

    def send(self, number: signal.Signals, name: str) -> None:
        pid = self.own.runtime.services[name].pid
        assert pid is not None
        os.kill(pid, number)

    def begin_again(self, name: str) -> None:
        """Restart a worker without waiting for it, because it may end at once."""
        wanted = read_requested(self.own.home)
        assert wanted is not None
        write_requested(self.own.home, wanted.restarted(name))

    def restore_whole(self) -> None:
        """Kill all workers and delete their snapshots. New workers read all of the changelogs."""
        for name in self.own.runtime.services:
            if name.startswith(WORKER_PREFIX):
                self.send(signal.SIGKILL, name)
        for kept in (self.own.home.path / "workers" / APP_ID).glob(f"{WORKER_PREFIX}*"):
            shutil.rmtree(kept)


Cause = Callable[[Scene], object]

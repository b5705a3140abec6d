"""Causes of the exit codes of workers, each on a running stack."""

import socket
import threading
from typing import Any, Final

import orjson
from confluent_kafka import KafkaException, Producer

from analytics import kafka
from cdc.contracts.partition import partition_of
from cdc.contracts.topics import APP_ID, ON_HAND_CHANGELOG, PARTITIONS, STOCK_EVENTS
from streams.engine.undecodable import PERMILLE, RECENT
from tests.stack.scene import Scene

PLACE: Final = 3
TOO_MANY: Final = RECENT * PERMILLE // 1_000 + 1


def port_taken(scene: Scene) -> None:
    """Listen on the worker's port as another program would: exit code 1."""
    port = scene.own.runtime.services["worker-1"].port
    assert port is not None
    other = scene.beside.enter_context(socket.socket())
    other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)

    def is_ours() -> bool:
        try:
            other.bind(("127.0.0.1", port))
        except OSError:
            return False
        other.listen()
        return True

    scene.begin_again("worker-1")
    scene.own.wait_until(is_ours)


def changelog_of_a_newer_release(scene: Scene) -> None:
    """Write a level of a version that this code doesn't know: exit code 65."""
    scene.produce(ON_HAND_CHANGELOG, PLACE, b"L|S", b'{"schema": 99}')
    scene.restore_whole()


def broker_suspended(scene: Scene) -> None:
    """Suspend the broker: exit code 69."""
    scene.suspend("kafka")


def level_behind_its_windows(scene: Scene) -> None:
    """Write a level that is older than its window rows: exit code 70."""
    key = f"{scene.shop.location}|A"
    place, document = last_level(scene, key)
    document["position"]["offset"] = 0
    content = orjson.dumps(document, option=orjson.OPT_SORT_KEYS)
    scene.produce(ON_HAND_CHANGELOG, place, key.encode(), content)
    scene.restore_whole()


def last_level(scene: Scene, key: str) -> tuple[int, dict[str, Any]]:
    """Return the partition of the key and its newest level."""
    place = partition_of(key.encode())
    end = kafka.end_offsets(scene.bootstrap, ON_HAND_CHANGELOG, PARTITIONS)[place]
    tail = kafka.Tail(scene.bootstrap, ON_HAND_CHANGELOG, PARTITIONS)
    levels = [m.value() for m in tail.read_until({place: end}) if m.key() == key.encode()]
    return place, dict(orjson.loads(levels[-1]))


def file_refused(scene: Scene) -> None:
    """Put a directory where workers write a file: exit code 74."""
    file = scene.own.home.path / "workers" / APP_ID / "topics.json"
    file.unlink()
    file.mkdir()
    scene.outside.callback(file.rmdir)
    scene.begin_again("worker-1")


def transactions_taken_over(scene: Scene) -> None:
    """Fence the worker's producer again and again, as another program would: exit code 75."""
    ended = threading.Event()
    identity = {"bootstrap.servers": scene.bootstrap, "transactional.id": f"{APP_ID}-{PLACE}"}

    def take_over() -> None:
        while not ended.wait(0.5):
            try:
                Producer(identity).init_transactions(30)
            except KafkaException:
                continue  # the worker has fenced this producer at the same time

    other = threading.Thread(target=take_over)
    scene.outside.callback(other.join)
    scene.outside.callback(ended.set)
    other.start()


def garbage_in_the_log(scene: Scene) -> None:
    """Write more undecodable records than the limit: exit code 76."""
    garbage = [b"garbage %d" % number for number in range(TOO_MANY)]
    scene.produce(STOCK_EVENTS, PLACE, b"L|S", *garbage)

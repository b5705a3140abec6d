"""Topics deleted, truncated or full of garbage: workers stop with a reason and can restart.

Uses a separate stack. A rebuild repairs its topics. After the last tests, only a new generation
could repair them.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from cdc.capture.admin import admin_client, create_topics, delete_topics
from cdc.contracts.topics import ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG, STOCK_EVENTS, TOPICS
from deploy.stack.requested import read_requested, write_requested
from streams.exit_codes import ExitCode
from tests.analytics.shop import Shop
from tests.stack.running import RunningStack, run_inventory, start
from tests.stack.test_revisions import SELL, desk

pytestmark = pytest.mark.soak

PARTS = "postgres,kafka,connect,migrate,topics,connector,worker-1,projector,actuator,heartbeat"
CHANGELOGS = (ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStack]:
    """A stack with one worker, and the services that `inventory verify` needs."""
    home = tmp_path_factory.mktemp("lost") / "home"
    try:
        yield start(home, "--workers", "1", "--only", PARTS)
    finally:
        run_inventory("down", home=home)


@pytest.fixture(scope="module")
def shop(own: RunningStack) -> Shop:
    """A shop with needs."""
    opened = Shop(own.settings.owner_database_url.get_secret_value())
    opened.trade()
    with psycopg.connect(opened.url, autocommit=True) as connection:
        connection.execute(SELL, {"place": opened.location, "sku": "C", "units": 90})
    own.wait_until(lambda: "C" in desk(own, opened))
    return opened


def proposals(shop: Shop) -> list[tuple[object, ...]]:
    """Return all proposals that the shop ever had."""
    with psycopg.connect(shop.url, autocommit=True) as connection:
        return connection.execute(
            "SELECT * FROM app.reorder_proposal WHERE location = %s ORDER BY 1", (shop.location,)
        ).fetchall()


def rebuild(own: RunningStack) -> dict[str, object]:
    """Run `workers rebuild` and return its report."""
    done = own.cli("workers", "rebuild", "--yes", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(json.loads(done.stdout))


def recreated(own: RunningStack, *names: str) -> None:
    delete_topics(own.settings.kafka_bootstrap, names)
    create_topics(own.settings.kafka_bootstrap, [topic for topic in TOPICS if topic.name in names])


def restart(own: RunningStack) -> None:
    """Restart the worker now. A worker that stops is restarted at growing intervals."""
    wanted = read_requested(own.home)
    assert wanted is not None
    write_requested(own.home, wanted.restarted("worker-1"))


def wait_for_halt(
    own: RunningStack, code: ExitCode, reason: str, service: str = "worker-1"
) -> None:
    """Wait until the service has ended with `code` and its log has the reason."""
    log: Path = own.home.log_of(service)

    def has_halted() -> bool:
        said = log.read_text(encoding="utf-8", errors="replace")
        return own.runtime.services[service].last_exit == code and reason in said

    own.wait_until(has_halted, describe=lambda: own.runtime.services[service])


def assert_nothing_differs(own: RunningStack, shop: Shop) -> None:
    for command in (("verify", "--location", shop.location), ("backfill", "verify")):
        checked = own.cli(*command, "--json")
        assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_rebuild_restores_every_state_byte_for_byte(own: RunningStack, shop: Shop) -> None:
    before = desk(own, shop), proposals(shop)

    unasked = own.cli("workers", "rebuild")
    found = rebuild(own)

    assert unasked.returncode == 1
    assert "inventory workers rebuild --yes" in unasked.stderr
    assert found["keys_differing"] == 0
    assert found["keys_equal"] == 3
    assert not found["not_compared"]
    assert (desk(own, shop), proposals(shop)) == before


def test_changelogs_recreated_halt_a_worker_until_they_are_rebuilt(
    own: RunningStack, shop: Shop
) -> None:
    before = desk(own, shop), proposals(shop)

    recreated(own, *CHANGELOGS)
    wait_for_halt(own, ExitCode.LOG_MISMATCH, "was deleted and recreated")
    wait_for_halt(own, ExitCode.LOG_MISMATCH, "was deleted and recreated", "projector")
    told = own.cli("doctor", "--json").stdout  # the table breaks long lines
    rebuild(own)

    assert "was deleted and recreated after this state was computed" in told
    assert "inventory workers rebuild" in told
    assert (desk(own, shop), proposals(shop)) == before
    assert_nothing_differs(own, shop)


def test_thousands_of_undecodable_records_halt_a_worker_with_the_schema_name(
    own: RunningStack,
) -> None:
    producer = Producer(
        {"bootstrap.servers": own.settings.kafka_bootstrap, "linger.ms": 100, "acks": "all"}
    )

    for number in range(20_000):
        producer.produce(STOCK_EVENTS, b"garbage %d" % number, b"L|S", partition=3)
        producer.poll(0)
    assert producer.flush(60) == 0

    wait_for_halt(own, ExitCode.SCHEMA_BREAK, "can't be decoded as Debezium's envelope")


def test_a_recreated_source_topic_halts_a_worker_and_prevents_a_rebuild(own: RunningStack) -> None:
    recreated(own, STOCK_EVENTS)
    restart(own)

    wait_for_halt(own, ExitCode.LOG_MISMATCH, "history is missing")

    refused = own.cli("workers", "rebuild", "--yes")
    assert refused.returncode == 1
    assert "the topic was recreated" in refused.stderr
    assert "inventory generation --yes" in refused.stderr
    assert own.runtime.services["worker-1"].state != "paused"


def test_a_recreated_longer_source_topic_halts_a_worker_without_local_topic_ids(
    own: RunningStack,
) -> None:
    """The new topic has more records than the old one, so only its topic id shows the change.

    The progress in the changelog has the id of the old topic.
    """
    producer = Producer({"bootstrap.servers": own.settings.kafka_bootstrap, "acks": "all"})
    for partition in range(12):
        for number in range(2_000):
            producer.produce(STOCK_EVENTS, b"another history", b"L|S", partition=partition)
            if number % 100 == 0:
                producer.poll(0)
    assert producer.flush(60) == 0
    own.settings.worker_dir.joinpath("topics.json").unlink()
    own.home.log_of("worker-1").write_text("")

    restart(own)

    wait_for_halt(own, ExitCode.LOG_MISMATCH, "but the state comes from")
    refused = own.cli("workers", "rebuild", "--yes")
    assert refused.returncode == 1
    assert "the topic was recreated" in refused.stderr


def test_a_truncated_changelog_halts_a_worker(own: RunningStack) -> None:
    admin = admin_client(own.settings.kafka_bootstrap)
    policy = ConfigEntry(
        "cleanup.policy", "compact,delete", incremental_operation=AlterConfigOpType.SET
    )
    topic = ConfigResource(
        ResourceType.TOPIC, ON_HAND_CHANGELOG, incremental_configs=[policy]
    )  # the broker deletes records only if the policy includes `delete`
    for answer in admin.incremental_alter_configs([topic]).values():
        answer.result(30)
    cut = [TopicPartition(ON_HAND_CHANGELOG, number, 1) for number in range(12)]
    for answer in admin.delete_records(cut).values():
        answer.result(30)

    restart(own)

    wait_for_halt(own, ExitCode.LOG_MISMATCH, "it was truncated")

"""Settings of Postgres, broker and Connect, shared by the local stack and `docker-compose.yml`.

The values in `LOCAL_*` are for one machine with two cores. Don't use them in production. The
settings have their names from the documentation of Postgres, Kafka and Kafka Connect.
"""

from typing import Final

KAFKA_VERSION: Final = "4.3.1"
DEBEZIUM_VERSION: Final = "3.7.0.Final"
POSTGRES_MAJOR: Final = 18
DATABASE: Final = "retail"
SCHEMAS: Final = ("retail", "app", "read_model")
SEARCH_PATH: Final = "app, retail, read_model"

POSTGRES: Final = {
    "wal_level": "logical",
    "max_replication_slots": "10",
    "max_wal_senders": "10",
    # Without this limit, an inactive slot would retain WAL until the disk is full.
    "max_slot_wal_keep_size": "4GB",
    # "off" would delay each change by 130 ms, because Postgres decodes a change only after the
    # flush of its WAL.
    "synchronous_commit": "on",
    "max_connections": "200",
    "timezone": "UTC",
}
LOCAL_POSTGRES: Final = {
    # If Connect is killed, another connector can use the slot only after this time. The default of
    # 60 s is for networks with interruptions.
    "wal_sender_timeout": "10s",
    # Enough for the list indexes of a million keys. Postgres occupies only the pages that it uses.
    "shared_buffers": "256MB",
    "max_wal_size": "1GB",
}

BROKER: Final = {
    "num.partitions": "12",
    "auto.create.topics.enable": "false",
    "delete.topic.enable": "true",
    "offsets.retention.minutes": "525600",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    # Values for one broker. In production, use three brokers, replication factor 3 and 2 in-sync
    # replicas.
    "default.replication.factor": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    # The default of 128 MiB doesn't fit into the local heap, so no topic would be compacted.
    "log.cleaner.dedupe.buffer.size": "8388608",
    "log.segment.bytes": "67108864",
}
LOCAL_BROKER: Final = {
    # After a kill, the broker can register again only when its old session has ended. The default
    # is 9 s.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "group.min.session.timeout.ms": "1000",
    "num.network.threads": "2",
    "num.io.threads": "4",
}

CONNECT: Final = {
    "group.id": "retail-connect",
    "config.storage.topic": "_connect_configs",
    "offset.storage.topic": "_connect_offsets",
    "status.storage.topic": "_connect_status",
    "config.storage.replication.factor": "1",
    "offset.storage.replication.factor": "1",
    "status.storage.replication.factor": "1",
    "offset.storage.partitions": "1",
    "status.storage.partitions": "1",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "key.converter.schemas.enable": "false",
    "value.converter.schemas.enable": "false",
    "plugin.discovery": "service_load",
    # After a crash, Debezium sends the records of at most the last 2 s again. The default of its
    # image is 60 s.
    "offset.flush.interval.ms": "2000",
    "scheduled.rebalance.max.delay.ms": "0",
    "topic.creation.enable": "false",
    "connector.client.config.override.policy": "None",
    # The producer waits 2 ms for further records, and sends all of them in one request. The records
    # of one poll arrive within this time. The default of 5 ms would only delay each change.
    "producer.linger.ms": "2",
    "producer.compression.type": "lz4",
    "producer.batch.size": "131072",
    "config.providers": "env",
    "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    # Without this pattern, a caller of Connect's `config/validate` could read each variable of
    # Connect.
    "config.providers.env.param.allowlist.pattern": "CDC_PASSWORD",
    "rest.extension.classes": (
        "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension"
    ),
}
# Without this flag, a connector's configuration could use more config providers, for example the
# one that reads files.
CONNECT_JVM: Final = ("-Dorg.apache.kafka.automatic.config.providers=none",)
LOCAL_CONNECT: Final = {
    # With these values, Connect works again 5 s after kill -9, instead of 10 s.
    "session.timeout.ms": "3000",
    "heartbeat.interval.ms": "500",
}

LOCAL_JVM: Final = ("-XX:+UseSerialGC", "-Djava.awt.headless=true")
# JVM flags for each value of INVENTORY_JVM_COMPILERS. The JVM has two compilers. In the first
# minutes after a start, the second compiler takes much CPU time. In hours of trade, its faster code
# saves more than that (decision 0060).
FIRST_COMPILER: Final = "first"
BOTH_COMPILERS: Final = "both"
JVM_COMPILERS: Final = {FIRST_COMPILER: ("-XX:TieredStopAtLevel=1",), BOTH_COMPILERS: ()}
BROKER_HEAP: Final = "-Xmx320m"
CONNECT_HEAP: Final = "-Xmx256m"
_PRINTABLE: Final = range(0x20, 0x7F)


def jaas_config(credentials: str) -> str:
    """Return the login configuration (JAAS) of Connect's REST API.

    `credentials` is the path of a properties file with one line `NAME=PASSWORD` per account.
    """
    module = "org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule"
    return f'KafkaConnect {{ {module} required file="{credentials}"; }};\n'


def properties(settings: dict[str, str]) -> str:
    """Return `settings` as the text of a Java properties file, in ASCII.

    Java reads such a file as Latin-1. So the text has an escape for each UTF-16 code unit outside
    of printable ASCII: a backslash, `u` and four hexadecimal digits. Each backslash in a value is
    doubled.
    """
    return "".join(f"{name}={_escaped(value)}\n" for name, value in settings.items())


def _escaped(value: str) -> str:
    units = value.replace("\\", "\\\\").encode("utf-16-be")
    codes = [int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2)]
    return "".join(chr(code) if code in _PRINTABLE else f"\\u{code:04x}" for code in codes)

"""Postgres, the broker and Kafka Connect in `docker-compose.yml`.

Each image defines the names of its variables. The image `apache/kafka` takes the property
`log.dirs` from the variable `KAFKA_LOG_DIRS`. Debezium's image takes `plugin.discovery` from
`CONNECT_PLUGIN_DISCOVERY`, and the properties in `_DEBEZIUM_NAMES` from variables without a prefix.
"""

import shlex
from typing import Any, Final

from cdc.capture.client import ACCOUNT
from deploy.compose_services.fields import KAFKA, RESTART, health, secret
from deploy.parts import (
    BROKER,
    CONNECT,
    CONNECT_JVM,
    DEBEZIUM_VERSION,
    KAFKA_VERSION,
    POSTGRES,
    POSTGRES_MAJOR,
    jaas_config,
)

# Debezium's image sets these properties from variables without a prefix. It has defaults for them.
_DEBEZIUM_NAMES: Final = {
    "bootstrap.servers": "BOOTSTRAP_SERVERS",
    "group.id": "GROUP_ID",
    "config.storage.topic": "CONFIG_STORAGE_TOPIC",
    "offset.storage.topic": "OFFSET_STORAGE_TOPIC",
    "status.storage.topic": "STATUS_STORAGE_TOPIC",
    "key.converter": "KEY_CONVERTER",
    "value.converter": "VALUE_CONVERTER",
    "offset.flush.interval.ms": "OFFSET_FLUSH_INTERVAL_MS",
}
_PROBE_S: Final = 15
FAILED_PROBES: Final = 60  # at least 5 min: after a crash, a broker reads its whole log
# Files of the container `connect`: logins of its REST API and of the probe.
_LOGIN: Final = "/etc/connect/login.conf"
_CREDENTIALS: Final = "/etc/connect/credentials.properties"
_PROBE: Final = "/etc/connect/netrc"


def kafka_variable(setting: str) -> str:
    """Return the environment variable for a broker property in the image `apache/kafka`."""
    return "KAFKA_" + setting.upper().replace("_", "__").replace(".", "_")


def connect_variable(setting: str) -> str:
    """Return the environment variable for a property of the Connect worker in Debezium's image."""
    return _DEBEZIUM_NAMES.get(setting, "CONNECT_" + setting.upper().replace(".", "_"))


def repairing_check(probe: str, answered: str = "", failures: int = FAILED_PROBES) -> str:
    """Return a shell health check that also repairs the service. Use it for images without Python.

    There, `deploy.guard` can't run. The service's process is the child of Docker's init process. If
    `probe` fails, the check sends SIGCONT, because the process may be suspended. After `failures`
    failures in a row it kills the process, and the restart policy starts it again.

    `answered` lists exit codes of the probe, separated by `|`. They mean that the service answers
    but isn't ready yet, and don't count as failures.
    """
    return (
        "parts=${GUARDED:-$(cat /proc/1/task/1/children)}; count=${SILENT:-/tmp/silent}; "
        f"timeout {_PROBE_S} {probe}; code=$?; "
        f'case $code in 0{answered and "|" + answered}) rm -f "$count"; exit $code;; esac; '
        'kill -CONT $parts; echo silent >> "$count"; '
        f'[ "$(wc -l < "$count")" -lt {failures} ] || '
        '{ rm -f "$count"; kill -KILL $parts; }; exit 1'
    )


def _repairing_health(probe: str, answered: str = "") -> dict[str, Any]:
    # Compose replaces `$NAME` in this text. With `$$`, the shell gets one `$`.
    text = repairing_check(probe, answered).replace("$", "$$")
    return health("CMD-SHELL", text) | {"timeout": f"{_PROBE_S + 5}s"}


def postgres() -> dict[str, Any]:
    """Return the service of Postgres."""
    flags = [part for name, value in POSTGRES.items() for part in ("-c", f"{name}={value}")]
    return {
        "image": f"postgres:{POSTGRES_MAJOR}",
        "command": ["postgres", *flags],
        "environment": {"POSTGRES_PASSWORD": secret("POSTGRES_PASSWORD")},
        "volumes": ["postgres:/var/lib/postgresql"],
        "healthcheck": _repairing_health("pg_isready -U postgres -h 127.0.0.1", answered="1"),
        "restart": RESTART,
        # SIGINT is Postgres' fast shutdown. SIGTERM, a smart shutdown, would wait for every client.
        "stop_signal": "SIGINT",
    }


def kafka() -> dict[str, Any]:
    """Return the service of the broker, one node that is also the controller."""
    listeners = "PLAINTEXT://:9092,CONTROLLER://:9093"
    settings = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": "1@kafka:9093",
        "listeners": listeners,
        "advertised.listeners": f"PLAINTEXT://{KAFKA}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "log.dirs": "/var/lib/kafka/data",
        **BROKER,
    }
    tool = "/opt/kafka/bin/kafka-broker-api-versions.sh"
    return {
        "image": f"apache/kafka:{KAFKA_VERSION}",
        "environment": {kafka_variable(name): value for name, value in settings.items()},
        "volumes": ["kafka:/var/lib/kafka/data"],
        "healthcheck": _repairing_health(f"{tool} --bootstrap-server localhost:9092"),
        "restart": RESTART,
    }


def connect() -> dict[str, Any]:
    """Return the service of Connect.

    Only this service and `setup` get the password of the role `cdc`.
    """
    settings = {"bootstrap.servers": KAFKA, **CONNECT}
    options = (*CONNECT_JVM, f"-Djava.security.auth.login.config={_LOGIN}")
    probe = ("curl", "-fsS", "--netrc-file", _PROBE, "http://localhost:8083/health")
    return {
        "image": f"quay.io/debezium/connect:{DEBEZIUM_VERSION}",
        "environment": {connect_variable(name): value for name, value in settings.items()}
        | {"CDC_PASSWORD": secret("CDC_PASSWORD"), "KAFKA_OPTS": " ".join(options)},
        "configs": [{"source": name, "target": file[0]} for name, file in connect_files().items()],
        "depends_on": {"kafka": {"condition": "service_healthy"}},
        "healthcheck": _repairing_health(shlex.join(probe), answered="22"),
        "restart": RESTART,
    }


def connect_files() -> dict[str, tuple[str, str]]:
    """Return Connect's login files: a map from name to (path, content).

    Two of the files contain the password of the REST API, so no environment variable of the service
    contains it.
    """
    password = secret("INVENTORY_CONNECT_PASSWORD")
    return {
        "connect-login": (_LOGIN, jaas_config(_CREDENTIALS)),
        "connect-credentials": (_CREDENTIALS, f"{ACCOUNT}={password}\n"),
        "connect-probe": (_PROBE, f"machine localhost login {ACCOUNT} password {password}\n"),
    }

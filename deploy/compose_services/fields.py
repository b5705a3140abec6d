"""Fields that several services of `docker-compose.yml` share: references, addresses, probes."""

from typing import Any, Final

from deploy.parts import DATABASE

SPARK_IMAGE: Final = "apache/spark:4.3.0"
KAFKA: Final = "kafka:9092"
RESTART: Final = "unless-stopped"


def secret(name: str) -> str:
    """Return a reference to a required variable: `${NAME:?…}`.

    Compose refuses to start without this variable.
    """
    return f"${{{name}:?set {name} in .env}}"


def optional(name: str, default: str) -> str:
    """Return a reference to a variable of .env, with its default: `${NAME:-DEFAULT}`."""
    return f"${{{name}:-{default}}}"


def health(*test: str, start_period: str = "60s") -> dict[str, Any]:
    """Return compose's definition of a health check that runs the command `test` every 5 s."""
    return {
        "test": list(test),
        "interval": "5s",
        "timeout": "5s",
        "retries": 12,
        "start_period": start_period,
    }


def database_url(role: str) -> str:
    """Return the URL of Postgres for `role`, with a reference to .env in place of the password."""
    password = secret(f"{role.upper()}_PASSWORD")
    return f"postgresql://{role}:{password}@postgres:5432/{DATABASE}"


def image_build(target: str) -> dict[str, Any]:
    """Return the field `build` for the image `target` of the Dockerfile."""
    return {
        "context": ".",
        "dockerfile": "deploy/container/Dockerfile",
        "target": target,
        "args": {"SPARK_IMAGE": SPARK_IMAGE},
    }

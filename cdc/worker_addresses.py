"""The HTTP addresses of the stream workers of this deployment.

The owner of a partition is stored nowhere. Each worker returns its own partitions on request
(docs/decisions/0012-asked-workers-forward-once.md).
"""

import json
from pathlib import Path

from pydantic_settings import BaseSettings, SettingsConfigDict

from cdc.settings import Connections


class WorkerAddresses(BaseSettings):
    """The variable `INVENTORY_WORKER_URLS`, comma-separated; "" means the local stack's workers."""

    model_config = SettingsConfigDict(env_prefix="INVENTORY_", frozen=True)

    worker_urls: str = ""


def worker_urls(settings: Connections) -> dict[str, str]:
    """Return the URL of each worker that may be running, by name.

    Without `INVENTORY_WORKER_URLS` the URLs come from the home's `runtime.json`, read at each call.
    """
    given = WorkerAddresses().worker_urls
    if given:
        urls = [url.strip().rstrip("/") for url in given.split(",") if url.strip()]
        return {url.rpartition("/")[2]: url for url in urls}
    return _urls_of_runtime(settings.home / "runtime.json")


def _urls_of_runtime(path: Path) -> dict[str, str]:
    try:
        services = json.loads(path.read_text("utf-8")).get("services", {})
    except (OSError, ValueError):
        return {}
    ports = {name: about.get("port") for name, about in sorted(services.items())}
    return {
        name: f"http://127.0.0.1:{port}"
        for name, port in ports.items()
        if name.startswith("worker-") and port
    }

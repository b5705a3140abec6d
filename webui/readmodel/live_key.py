"""The worker that holds a key, as the pages ask it; the read model stands behind."""

from django.conf import settings

from cdc import workers
from cdc.workers import LiveKey, PartitionMap

__all__ = ["LiveKey", "PartitionMap", "live_key", "partition_map", "worker_urls"]


def worker_urls() -> dict[str, str]:
    """Name and address of all workers that may be running."""
    return workers.worker_urls(settings.CONNECTIONS)


def partition_map() -> PartitionMap:
    """Which worker holds which partition right now."""
    return workers.partition_map(settings.CONNECTIONS)


def live_key(inv_key: str) -> LiveKey:
    """What the worker says right now."""
    return workers.ask(settings.CONNECTIONS, inv_key)

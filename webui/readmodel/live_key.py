"""Queries to the workers over HTTP. If no worker answers, pages show the read model."""

from django.conf import settings

from cdc import workers
from cdc.workers import LiveKey, PartitionMap

__all__ = ["LiveKey", "PartitionMap", "live_key", "partition_map", "worker_urls"]


def worker_urls() -> dict[str, str]:
    """Return {name: URL} of the known workers. A worker in the result may have ended."""
    return workers.worker_urls(settings.CONNECTIONS)


def partition_map() -> PartitionMap:
    """Return the owner of each partition as one worker reports it, or a `problem` without rows."""
    return workers.partition_map(settings.CONNECTIONS)


def live_key(inv_key: str) -> LiveKey:
    """Return a key's state from the worker of its partition, or a `problem` without a state."""
    return workers.query_key(settings.CONNECTIONS, inv_key)

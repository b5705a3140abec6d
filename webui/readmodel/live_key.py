"""Queries of the workers' HTTP interface; pages fall back to the read model."""

from django.conf import settings

from cdc import workers
from cdc.workers import LiveKey, PartitionMap

__all__ = ["LiveKey", "PartitionMap", "live_key", "partition_map", "worker_urls"]


def worker_urls() -> dict[str, str]:
    """Return {name: URL} of the workers that may be running."""
    return workers.worker_urls(settings.CONNECTIONS)


def partition_map() -> PartitionMap:
    """Return the current worker of each partition as a worker reports it, or a problem instead."""
    return workers.partition_map(settings.CONNECTIONS)


def live_key(inv_key: str) -> LiveKey:
    """Return a key's current state from the worker of its partition, or a problem instead."""
    return workers.query_key(settings.CONNECTIONS, inv_key)

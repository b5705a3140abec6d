"""Removal of a worker from its consumer group, after its process has ended and won't restart.

A worker leaves its group by itself after the signal for leaving (`streams.stop_signals`). A worker
that was killed, or had no time to leave, is still a member. It would keep its partitions until its
session times out after 6 s. Until then, no worker would fold these partitions.
"""

import asyncio
from typing import Final

from aiokafka.client import AIOKafkaClient, ConnectionGroup, CoordinationType
from aiokafka.errors import KafkaError
from aiokafka.protocol.group import LeaveGroupRequest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from cdc.contracts.topics import APP_ID

_TIMEOUT_S: Final = 5.0


def leave(bootstrap: str, worker: str, group: str = APP_ID) -> bool:
    """Remove `worker` from the group. Return True if it was a member.

    If the removal fails, return False. The broker then removes the member when its session times
    out.
    """
    try:
        member = _member_id(bootstrap, worker, group)
        if member is None:
            return False
        asyncio.run(asyncio.wait_for(_leave(bootstrap, group, member), _TIMEOUT_S))
    except (KafkaException, KafkaError, TimeoutError):
        return False
    return True


def _member_id(bootstrap: str, worker: str, group: str) -> str | None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    described = admin.describe_consumer_groups([group], request_timeout=_TIMEOUT_S)
    members = described[group].result(timeout=_TIMEOUT_S).members
    found = [member.member_id for member in members if member.group_instance_id == worker]
    return str(found[0]) if found else None


async def _leave(bootstrap: str, group: str, member: str) -> None:
    client = AIOKafkaClient(bootstrap_servers=bootstrap)
    await client.bootstrap()
    try:
        coordinator = await client.coordinator_lookup(CoordinationType.GROUP, group)
        await client.ready(coordinator, group=ConnectionGroup.COORDINATION)
        request = LeaveGroupRequest(group, member)
        await client.send(coordinator, request, group=ConnectionGroup.COORDINATION)
    finally:
        await client.close()

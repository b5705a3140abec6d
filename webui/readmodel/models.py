"""Django models of the projector's tables (DDL: `migrations`); pages only read them."""

# ruff: noqa: DJ001, D106 -- null means "no person" or "none" in the fixed columns; Meta needs none
from __future__ import annotations

from django.db import models
from typing_extensions import override


class Stock(models.Model):
    """Level of one key, as of a position in its partition."""

    inv_key = models.TextField(primary_key=True)
    location = models.TextField()
    sku = models.TextField()
    on_hand_units = models.BigIntegerField()
    unavailable_units = models.BigIntegerField()
    on_order_units = models.BigIntegerField()
    in_transit_units = models.BigIntegerField()
    allocated_units = models.BigIntegerField()
    available_to_sell_units = models.BigIntegerField()
    stock_known = models.BooleanField()
    base_position_units = models.BigIntegerField()
    requested_units = models.BigIntegerField()
    reorder_point_units = models.BigIntegerField(null=True)
    order_up_to_units = models.BigIntegerField(null=True)
    demand_rate_micro = models.BigIntegerField(null=True)
    price_minor = models.BigIntegerField(null=True)
    price_step = models.IntegerField()
    episode_state = models.TextField()
    reorder_id = models.TextField(null=True)
    price_proposal_id = models.TextField(null=True)
    policy_active = models.BooleanField()
    stream_time_us = models.BigIntegerField(null=True)
    generation = models.IntegerField()
    partition = models.IntegerField()
    offset = models.BigIntegerField()
    logic_revision = models.IntegerField()
    as_of_us = models.BigIntegerField()
    state: models.JSONField[object, object] = models.JSONField()

    class Meta:
        managed = False
        db_table = "stock"

    @override
    def __str__(self) -> str:
        return self.inv_key


class SalesWindow(models.Model):
    """Sales of one key in one ten-minute window, including windows that workers have dropped."""

    pk = models.CompositePrimaryKey("inv_key", "start_us")
    inv_key = models.TextField()
    start_us = models.BigIntegerField()
    sold_units = models.BigIntegerField()
    returned_units = models.BigIntegerField()
    sale_lines = models.BigIntegerField()
    return_lines = models.BigIntegerField()
    revenue_minor = models.BigIntegerField()
    late_lines = models.BigIntegerField()
    window_revision = models.BigIntegerField()
    partition = models.IntegerField()
    offset = models.BigIntegerField()

    class Meta:
        managed = False
        db_table = "sales_window"

    @override
    def __str__(self) -> str:
        return f"{self.inv_key} {self.start_us}"


class LateSale(models.Model):
    """Units that no window counts, because theirs had expired."""

    id = models.TextField(primary_key=True)
    inv_key = models.TextField()
    units = models.BigIntegerField()
    amount_minor = models.BigIntegerField()
    reason = models.TextField()
    generation = models.IntegerField()
    partition = models.IntegerField()
    offset = models.BigIntegerField()
    commit_us = models.BigIntegerField(null=True)

    class Meta:
        managed = False
        db_table = "late_sale"

    @override
    def __str__(self) -> str:
        return self.id


class Rejected(models.Model):
    """A record without effect, with its bytes and the reason."""

    id = models.TextField(primary_key=True)
    generation = models.IntegerField()
    partition = models.IntegerField()
    offset = models.BigIntegerField()
    key = models.BinaryField(null=True)
    value = models.BinaryField(null=True)
    reason = models.TextField()
    stage = models.TextField()
    detail = models.TextField()
    logic_revision = models.IntegerField()
    commit_us = models.BigIntegerField(null=True)
    seen_at = models.DateTimeField()

    class Meta:
        managed = False
        db_table = "rejected"

    @override
    def __str__(self) -> str:
        return self.id


class SinkPosition(models.Model):
    """A sink's next offset in one partition, committed in the transaction of its rows."""

    pk = models.CompositePrimaryKey("sink", "topic", "partition")
    sink = models.TextField()
    topic = models.TextField()
    partition = models.IntegerField()
    next_offset = models.BigIntegerField()
    as_of_us = models.BigIntegerField(null=True)
    updated_at = models.DateTimeField()

    class Meta:
        managed = False
        db_table = "sink_position"

    @override
    def __str__(self) -> str:
        return f"{self.sink} {self.topic}[{self.partition}]"


class Heartbeat(models.Model):
    """The newest heartbeat of a partition that reached the read model."""

    partition = models.IntegerField(primary_key=True)
    beat = models.BigIntegerField()
    commit_us = models.BigIntegerField(null=True)
    applied_at = models.DateTimeField()

    class Meta:
        managed = False
        db_table = "heartbeat"

    @override
    def __str__(self) -> str:
        return f"partition {self.partition}"


class ServiceHeartbeat(models.Model):
    """The newest heartbeat of a process without a port."""

    service = models.TextField(primary_key=True)
    pid = models.IntegerField()
    at = models.DateTimeField()
    detail: models.JSONField[object, object] = models.JSONField()

    class Meta:
        managed = False
        db_table = "service_heartbeat"

    @override
    def __str__(self) -> str:
        return self.service

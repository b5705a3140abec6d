"""Django models of the ledger's tables; the DDL, with every constraint, is in `migrations`.

The models are unmanaged: their tables have triggers, grants and identities that Django cannot
express. Writes go through `ledger.services`; pages read these models.
"""

# ruff: noqa: DJ001, D106 -- null means "no person" or "none" in the fixed columns; Meta needs none
from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from typing_extensions import override

from ledger.models_reference import Location, Product, PurchaseOrder, Supplier

__all__ = [
    "ActionLog",
    "ItemLocation",
    "Location",
    "PipelineHeartbeat",
    "PriceChange",
    "PriceDecision",
    "PriceProposal",
    "Product",
    "PurchaseOrder",
    "PurchaseOrderLine",
    "ReorderDecision",
    "ReorderProposal",
    "SaleLine",
    "Setting",
    "ShipmentLine",
    "StockAdjustment",
    "StockCount",
    "Supplier",
]


class Captured(models.Model):
    """A row that change capture publishes under its `inv_key`."""

    id = models.BigAutoField(primary_key=True)
    inv_key = models.TextField()
    location = models.TextField()
    sku = models.TextField()
    recorded_at = models.DateTimeField(editable=False)
    recorded_by = models.TextField(null=True)

    class Meta:
        abstract = True

    @override
    def __str__(self) -> str:
        return f"{self._meta.db_table} {self.pk} of {self.inv_key}"


class ItemLocation(Captured):
    """An item ranged at a location, with every policy that a decision about the key needs."""

    status = models.TextField()
    clock_mode = models.TextField(default="live")
    allocated_units = models.BigIntegerField(default=0)
    reviewed_at = models.DateTimeField(null=True)
    trading_windows = models.BigIntegerField(default=144)
    trading_from_window = models.BigIntegerField(default=0)
    demand_method = models.TextField(default="ewma")
    demand_alpha_permille = models.BigIntegerField(default=125)
    initial_rate_micro = models.BigIntegerField(null=True)
    replenish_family = models.TextField(default="off")
    levels = models.TextField(default="fixed")
    reorder_point_units = models.BigIntegerField(default=0)
    order_up_to_units = models.BigIntegerField(default=0)
    order_quantity_units = models.BigIntegerField(default=0)
    lead_time_centidays = models.BigIntegerField(default=0)
    lead_time_sd_centidays = models.BigIntegerField(default=0)
    review_centidays = models.BigIntegerField(default=0)
    cycle_centidays = models.BigIntegerField(default=0)
    min_cover_centidays = models.BigIntegerField(default=0)
    max_cover_centidays = models.BigIntegerField(default=0)
    safety_method = models.TextField(default="fixed")
    safety_stock_units = models.BigIntegerField(default=0)
    safety_centidays = models.BigIntegerField(default=0)
    service_z_micro = models.BigIntegerField(default=0)
    order_days_mask = models.BigIntegerField(default=127)
    hysteresis_units = models.BigIntegerField(null=True)
    supplier = models.TextField(null=True)
    cost_minor = models.BigIntegerField(default=0)
    pack_units = models.BigIntegerField(default=1)
    pack_rounding = models.TextField(default="up")
    round_up_permille = models.BigIntegerField(default=500)
    pallet_packs = models.BigIntegerField(default=0)
    pallet_permille = models.BigIntegerField(default=0)
    moq_units = models.BigIntegerField(default=0)
    max_order_units = models.BigIntegerField(null=True)
    capacity_units = models.BigIntegerField(null=True)
    guard_days = models.BigIntegerField(default=90)
    auto_max_minor = models.BigIntegerField(default=0)
    price_mode = models.TextField(default="off")
    regular_minor = models.BigIntegerField(null=True)
    margin_permille = models.BigIntegerField(default=0)
    tax_bp = models.BigIntegerField(default=0)
    ladder_permille: ArrayField[list[int], list[int]] = ArrayField(models.BigIntegerField())
    raise_permille: ArrayField[list[int], list[int]] = ArrayField(models.BigIntegerField())
    endings: ArrayField[list[int], list[int]] = ArrayField(models.BigIntegerField())
    max_step_permille = models.BigIntegerField(default=200)
    max_off_permille = models.BigIntegerField(default=500)
    cap_permille = models.BigIntegerField(default=100)
    lead_minutes = models.BigIntegerField(default=30)
    cooldown_hours = models.BigIntegerField(default=168)
    no_touch_from = models.DateTimeField(null=True)
    no_touch_until = models.DateTimeField(null=True)
    prior_rule = models.TextField(default="plain")
    scarce_enabled = models.BooleanField(default=False)
    scarce_days = models.BigIntegerField(default=3)
    overstock_days = models.BigIntegerField(default=56)
    idle_days = models.BigIntegerField(default=21)
    restore_days = models.BigIntegerField(default=28)
    auto_permille = models.BigIntegerField(default=0)
    phantom_lambda_micro = models.BigIntegerField(default=4_605_170)

    class Meta:
        managed = False
        db_table = "item_location"


class SaleLine(Captured):
    """One line of a till receipt; a negative quantity is a return."""

    source = models.TextField()
    source_ref = models.TextField()
    quantity_units = models.BigIntegerField()
    amount_minor = models.BigIntegerField()
    condition = models.TextField(default="resaleable")
    occurred_at = models.DateTimeField()

    class Meta:
        managed = False
        db_table = "sale_line"


class PurchaseOrderLine(Captured):
    """Units ordered from a supplier."""

    order_ref = models.TextField()
    reorder_id = models.TextField(null=True, unique=True)
    supplier = models.TextField()
    status = models.TextField()
    ordered_units = models.BigIntegerField()
    confirmed_units = models.BigIntegerField(null=True)
    cancelled_units = models.BigIntegerField(default=0)
    ordered_at = models.DateTimeField()
    due_on = models.DateField(null=True)
    cost_minor = models.BigIntegerField(null=True)
    pack_units = models.BigIntegerField(null=True)

    class Meta:
        managed = False
        db_table = "purchase_order_line"


class ShipmentLine(Captured):
    """One row of a shipment: a supplier's delivery, or one end of a transfer."""

    leg = models.TextField()
    status = models.TextField()
    purchase_order_line_id = models.BigIntegerField(null=True)
    transfer_ref = models.TextField(null=True)
    reorder_id = models.TextField(null=True, unique=True)
    planned_units = models.BigIntegerField(default=0)
    shipped_units = models.BigIntegerField(default=0)
    received_units = models.BigIntegerField(default=0)
    damaged_units = models.BigIntegerField(default=0)
    order_units = models.BigIntegerField(default=0)
    shipped_at = models.DateTimeField(null=True)
    received_at = models.DateTimeField(null=True)
    discrepancy_reason = models.TextField(null=True)

    class Meta:
        managed = False
        db_table = "shipment_line"


class StockCount(Captured):
    """The units that a person counted, at a second."""

    units = models.BigIntegerField()
    kind = models.TextField()
    status = models.TextField()
    occurred_at = models.DateTimeField()

    class Meta:
        managed = False
        db_table = "stock_count"


class StockAdjustment(Captured):
    """A booked correction with its reason."""

    reason = models.TextField()
    quantity_units = models.BigIntegerField()
    occurred_at = models.DateTimeField()

    class Meta:
        managed = False
        db_table = "stock_adjustment"


class PriceChange(Captured):
    """One row of the price timeline; never changed, never deleted."""

    effective_from = models.DateTimeField()
    price_minor = models.BigIntegerField()
    step = models.IntegerField(default=0)
    kind = models.TextField()
    proposal_id = models.TextField(null=True, unique=True)
    floor_minor = models.BigIntegerField()

    class Meta:
        managed = False
        db_table = "price_change"


class ReorderDecision(Captured):
    """A person's decision on a reorder proposal."""

    reorder_id = models.TextField()
    action = models.TextField()
    until_at = models.DateTimeField(null=True)
    reason = models.TextField(null=True)
    need_revision = models.BigIntegerField(null=True)

    class Meta:
        managed = False
        db_table = "reorder_decision"


class PriceDecision(Captured):
    """A person's decision on a price proposal."""

    proposal_id = models.TextField()
    action = models.TextField()
    until_at = models.DateTimeField(null=True)
    reason = models.TextField(null=True)
    price_revision = models.BigIntegerField(null=True)

    class Meta:
        managed = False
        db_table = "price_decision"


class PipelineHeartbeat(Captured):
    """One row per partition, updated in place."""

    beat = models.BigIntegerField()
    occurred_at = models.DateTimeField()

    class Meta:
        managed = False
        db_table = "pipeline_heartbeat"


class Decided(models.Model):
    """The columns of a proposal that hold a person's decision and its times."""

    opened_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    decided_action = models.TextField(null=True)
    decided_by = models.TextField(null=True)
    decided_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True


class ReorderProposal(Decided):
    """One need of one key, in the newest revision that the workers published."""

    reorder_id = models.TextField(primary_key=True)
    inv_key = models.TextField()
    location = models.TextField()
    sku = models.TextField()
    supplier = models.TextField(null=True)
    revision = models.IntegerField()
    status = models.TextField()
    quantity_units = models.BigIntegerField(null=True)
    base_position_units = models.BigIntegerField()
    reorder_point_units = models.BigIntegerField(null=True)
    order_up_to_units = models.BigIntegerField(null=True)
    flags: ArrayField[list[str], list[str]] = ArrayField(models.TextField())
    reason = models.TextField(null=True)
    terms: models.JSONField[object, object] = models.JSONField()
    cost_minor = models.BigIntegerField()
    logic_revision = models.IntegerField()
    position: models.JSONField[object, object] = models.JSONField()
    as_of_us = models.BigIntegerField()
    decided_units = models.BigIntegerField(null=True)

    class Meta:
        managed = False
        db_table = "reorder_proposal"

    @override
    def __str__(self) -> str:
        return self.reorder_id


class PriceProposal(Decided):
    """One proposed price of one key."""

    proposal_id = models.TextField(primary_key=True)
    inv_key = models.TextField()
    location = models.TextField()
    sku = models.TextField()
    revision = models.IntegerField()
    status = models.TextField()
    old_minor = models.BigIntegerField()
    new_minor = models.BigIntegerField()
    regular_minor = models.BigIntegerField()
    floor_minor = models.BigIntegerField()
    step = models.IntegerField()
    signal = models.TextField()
    clamps: ArrayField[list[str], list[str]] = ArrayField(models.TextField())
    effective_at_us = models.BigIntegerField()
    prior_minor = models.BigIntegerField(null=True)
    reason = models.TextField(null=True)
    terms: models.JSONField[object, object] = models.JSONField()
    logic_revision = models.IntegerField()
    position: models.JSONField[object, object] = models.JSONField()
    as_of_us = models.BigIntegerField()

    class Meta:
        managed = False
        db_table = "price_proposal"

    @override
    def __str__(self) -> str:
        return self.proposal_id


class Setting(models.Model):
    """The single row of settings that people change while the system runs."""

    id = models.IntegerField(primary_key=True)
    price_kill_switch = models.BooleanField(default=False)
    updated_by = models.TextField(null=True)
    updated_at = models.DateTimeField()

    class Meta:
        managed = False
        db_table = "setting"

    @override
    def __str__(self) -> str:
        return "settings"


class ActionLog(models.Model):
    """One action of a person or job; rows are only ever appended."""

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField()
    actor = models.TextField(null=True)
    action = models.TextField()
    subject = models.TextField()
    detail: models.JSONField[object, object] = models.JSONField()
    command_id = models.UUIDField(null=True)

    class Meta:
        managed = False
        db_table = "action_log"
        ordering: ClassVar[list[str]] = ["-id"]

    @override
    def __str__(self) -> str:
        return f"{self.action} {self.subject}"

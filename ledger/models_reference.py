"""Models of products, locations, suppliers and purchase orders; part of `models`."""

# ruff: noqa: DJ001, D106 -- null means "no person" or "none" in the fixed columns; Meta needs none
from __future__ import annotations

from django.db import models
from typing_extensions import override


class Reference(models.Model):
    """A row of a reference table, keyed by its code."""

    code = models.TextField(primary_key=True)
    name = models.TextField()

    class Meta:
        abstract = True

    @override
    def __str__(self) -> str:
        return self.code


class Product(Reference):
    """A product, keyed by its SKU."""

    department = models.TextField(default="")

    class Meta:
        managed = False
        db_table = "product"


class Location(Reference):
    """A store or a warehouse."""

    kind = models.TextField(default="store")
    address = models.TextField(default="")

    class Meta:
        managed = False
        db_table = "location"


class Supplier(Reference):
    """A supplier of goods, with its terms."""

    is_active = models.BooleanField(default=True)
    email = models.TextField(default="")
    address = models.TextField(default="")
    minimum_order_minor = models.BigIntegerField(default=0)
    order_days_mask = models.BigIntegerField(default=127)
    lead_time_centidays = models.BigIntegerField(default=0)

    class Meta:
        managed = False
        db_table = "supplier"


class PurchaseOrder(models.Model):
    """A purchase order; until it is sent, it collects approved lines."""

    number = models.BigAutoField(primary_key=True)
    order_ref = models.TextField(unique=True)
    supplier = models.TextField()
    location = models.TextField()
    is_automatic = models.BooleanField(default=False)
    opened_at = models.DateTimeField()
    opened_by = models.TextField(null=True)
    sent_at = models.DateTimeField(null=True)
    sent_by = models.TextField(null=True)

    class Meta:
        managed = False
        db_table = "purchase_order"

    @override
    def __str__(self) -> str:
        return self.order_ref

"""Django models of the tables that the admin shows; decision 0031 has the reasons.

They are unmanaged: SQL in migrations creates the tables. The admin reads rows with these models and
checks forms against their fields. It writes through the services of `ledger.items.reference` and
never calls `save()`. People and roles are Django's own models `User` and `Group`.
"""

from typing import Final

from django.db import models
from typing_extensions import override

from cdc.contracts.tables import LOCATION, PRODUCT, SUPPLIER
from ledger.items.reference import (
    KINDS_OF_LOCATION,
    LONGEST_ADDRESS,
    LONGEST_DEPARTMENT,
    LONGEST_LOCATION,
    LONGEST_NAME,
    LONGEST_SUPPLIER,
    STORE,
)
from ledger.kernel.checks import LONGEST_SKU

_KINDS: Final = [(kind, kind.capitalize()) for kind in KINDS_OF_LOCATION]


def _quoted(table: str) -> str:
    """Return `retail.product` as `"retail"."product"`; Django leaves a quoted name as it is."""
    schema, _, name = table.partition(".")
    return f'"{schema}"."{name}"'


class Product(models.Model):
    """An item of the catalogue."""

    code = models.CharField(
        "SKU", primary_key=True, max_length=LONGEST_SKU, help_text="It can't be changed later."
    )
    name = models.CharField(max_length=LONGEST_NAME, help_text="As pages and orders show it.")
    department = models.CharField(max_length=LONGEST_DEPARTMENT, blank=True, default="")

    class Meta:
        """Options for Django: SQL creates the table, and `webui` checks the rights."""

        managed = False
        db_table = _quoted(PRODUCT)
        default_permissions = ()
        ordering = ("code",)

    @override
    def __str__(self) -> str:
        return self.code


class Location(models.Model):
    """A store or a warehouse."""

    code = models.CharField(
        primary_key=True,
        max_length=LONGEST_LOCATION,
        help_text="A to Z, 0 to 9 and hyphens, like BERLIN-1. It can't be changed later.",
    )
    name = models.CharField(max_length=LONGEST_NAME, help_text="As pages and orders show it.")
    kind = models.CharField(max_length=9, choices=_KINDS, default=STORE)
    address = models.TextField(
        max_length=LONGEST_ADDRESS,
        blank=True,
        default="",
        help_text="Purchase orders print it as the place of delivery.",
    )

    class Meta:
        """Options for Django: SQL creates the table, and `webui` checks the rights."""

        managed = False
        db_table = _quoted(LOCATION)
        default_permissions = ()
        ordering = ("code",)

    @override
    def __str__(self) -> str:
        return self.code


class Supplier(models.Model):
    """A supplier. Buyers change its terms of ordering on the desk Suppliers."""

    code = models.CharField(
        primary_key=True,
        max_length=LONGEST_SUPPLIER,
        help_text="Policies of items contain this code. It can't be changed later.",
    )
    name = models.CharField(max_length=LONGEST_NAME, help_text="As pages and orders show it.")
    is_active = models.BooleanField("active", default=True)

    class Meta:
        """Options for Django: SQL creates the table, and `webui` checks the rights."""

        managed = False
        db_table = _quoted(SUPPLIER)
        default_permissions = ()
        ordering = ("code",)

    @override
    def __str__(self) -> str:
        return self.code

"""Django models of the tables that the desk Admin shows; decision 0031 has the reasons.

The models are unmanaged: SQL in migrations creates the tables. The desk Admin reads rows with these
models and checks forms against their fields. It writes through the services of
`ledger.items.reference` and never calls `save()`. People and roles are Django's own models `User`
and `Group`.
"""

from typing import Final

from django.db import models
from typing_extensions import override

from cdc.contracts.tables import GTIN, LOCATION, PRODUCT, SUPPLIER, SUPPLIER_CODE
from ledger.items.codes import LONGEST_NUMBER
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
from ledger.messages import gettext_noop

# Longest input for a GTIN: it may have blanks, or other elements of a GS1 symbol around the GTIN.
LONGEST_TYPED: Final = 100
_INACTIVE: Final = gettext_noop("Scans and searches don't find an inactive code.")
_KINDS: Final = [(kind, kind.capitalize()) for kind in KINDS_OF_LOCATION]


def _quoted(table: str) -> str:
    """Return `retail.product` as `"retail"."product"`; Django leaves a quoted name as it is."""
    schema, _, name = table.partition(".")
    return f'"{schema}"."{name}"'


class Product(models.Model):
    """A product of the catalogue; `code` is its SKU."""

    code = models.CharField(
        "SKU",
        primary_key=True,
        max_length=LONGEST_SKU,
        help_text=gettext_noop("The SKU can't be changed later."),
    )
    name = models.CharField(
        max_length=LONGEST_NAME, help_text=gettext_noop("Pages and orders show this name.")
    )
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
        help_text=gettext_noop(
            "A to Z, 0 to 9 and hyphens, like BERLIN-1. It can't be changed later."
        ),
    )
    name = models.CharField(
        max_length=LONGEST_NAME, help_text=gettext_noop("Pages and orders show this name.")
    )
    kind = models.CharField(max_length=9, choices=_KINDS, default=STORE)
    address = models.TextField(
        max_length=LONGEST_ADDRESS,
        blank=True,
        default="",
        help_text=gettext_noop("Purchase orders print this address as the place of delivery."),
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
        help_text=gettext_noop("Policies of items contain this code. It can't be changed later."),
    )
    name = models.CharField(
        max_length=LONGEST_NAME, help_text=gettext_noop("Pages and orders show this name.")
    )
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


class Gtin(models.Model):
    """A GTIN of one unit of a product, or of a case with several units."""

    code = models.CharField(
        "GTIN",
        primary_key=True,
        max_length=LONGEST_TYPED,
        help_text=gettext_noop(
            "The 8, 12, 13 or 14 digits below the bars. It can't be changed later."
        ),
    )
    sku = models.CharField("SKU", max_length=LONGEST_SKU)
    pack_units = models.PositiveIntegerField(
        "units",
        default=1,
        help_text=gettext_noop("Units that one scan counts: more than 1 for a case."),
    )
    is_active = models.BooleanField("active", default=True, help_text=_INACTIVE)

    class Meta:
        """Options for Django: SQL creates the table, and `webui` checks the rights."""

        managed = False
        db_table = _quoted(GTIN)
        default_permissions = ()
        ordering = ("code",)
        verbose_name = gettext_noop("GTIN")

    @override
    def __str__(self) -> str:
        return self.code


class SupplierCode(models.Model):
    """The number of a product at a supplier; `code` is `supplier|number`."""

    code = models.CharField(primary_key=True, max_length=LONGEST_SUPPLIER + 1 + LONGEST_NUMBER)
    supplier = models.CharField(
        max_length=LONGEST_SUPPLIER,
        help_text=gettext_noop("The code of a supplier. It can't be changed later."),
    )
    number = models.CharField(
        max_length=LONGEST_NUMBER,
        help_text=gettext_noop(
            "Type the number as the supplier's papers show it. The number can't be changed later."
        ),
    )
    sku = models.CharField("SKU", max_length=LONGEST_SKU)
    is_active = models.BooleanField("active", default=True, help_text=_INACTIVE)

    class Meta:
        """Options for Django: SQL creates the table, and `webui` checks the rights."""

        managed = False
        db_table = _quoted(SUPPLIER_CODE)
        default_permissions = ()
        ordering = ("code",)
        verbose_name = gettext_noop("supplier's code")

    @override
    def __str__(self) -> str:
        return self.code

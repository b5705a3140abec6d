"""Codes of products in the admin: GTINs and suppliers' codes."""

from typing import ClassVar

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.utils.translation import gettext
from typing_extensions import override

from ledger.items.codes import gtin14_or, supplier_code
from ledger.items.gtin import digits_in
from ledger.messages import gettext_noop
from ledger.models import Gtin, SupplierCode
from ledger.services import DescribeGtin, DescribeSupplierCode
from webui.desks.reference.forms import ReferenceForm
from webui.desks.reference.site import site
from webui.desks.reference.written import WrittenTable


class GtinForm(ReferenceForm):
    """The form for a GTIN, which people type or scan with 8, 12, 13 or 14 digits."""

    class Meta:
        """Options of Django: the model and the fields that people fill in."""

        model = Gtin
        fields = ("code", "sku", "pack_units", "is_active")

    def clean_code(self) -> str:
        """Return a GTIN as 14 digits. Return any other text unchanged: the service refuses it."""
        return gtin14_or(digits_in(self.cleaned_data["code"]))


@admin.register(Gtin, site=site)
class GtinAdmin(WrittenTable):
    """The admin's table of GTINs, which belong to units or to cases of a product."""

    import_name = "codes-import"
    plural = gettext_noop("GTINs")
    note = gettext_noop("The numbers in barcodes, with 14 digits.")
    form = GtinForm
    kind = DescribeGtin
    fields = ("code", "sku", "pack_units", "is_active")
    list_display = ("code", "sku", "pack_units", "state")
    list_filter = ("is_active",)
    search_fields = ("code", "sku")

    @override
    def command(self, row: Gtin) -> DescribeGtin:
        return DescribeGtin(row.code, row.sku, row.pack_units, row.is_active)

    @admin.display(description=gettext_noop("state"), ordering="is_active")
    def state(self, row: Gtin) -> str:
        """Return "active" if a scan finds the code, else "inactive"."""
        return gettext("active") if row.is_active else gettext("inactive")


@admin.register(SupplierCode, site=site)
class SupplierCodeAdmin(WrittenTable):
    """The admin's table of suppliers' codes."""

    import_name = "codes-import"
    plural = gettext_noop("Codes of suppliers")
    note = gettext_noop("Purchase orders print these codes.")
    kind = DescribeSupplierCode
    fields = ("supplier", "number", "sku", "is_active")
    fixed: ClassVar = ("supplier", "number")
    list_display = ("number", "supplier", "sku", "state")
    list_filter = ("is_active",)
    search_fields = ("number", "supplier", "sku")

    @override
    def command(self, row: SupplierCode) -> DescribeSupplierCode:
        row.code = supplier_code(row.supplier, row.number)
        return DescribeSupplierCode(row.code, row.supplier, row.number, row.sku, row.is_active)

    @override
    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[str]:
        fixed = [] if obj is None else self.fixed
        return [*super().get_readonly_fields(request, obj), *fixed]

    @admin.display(description=gettext_noop("state"), ordering="is_active")
    def state(self, row: SupplierCode) -> str:
        """Return "active" if a search finds the code, else "inactive"."""
        return gettext("active") if row.is_active else gettext("inactive")

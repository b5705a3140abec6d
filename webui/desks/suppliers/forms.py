"""The form of a supplier's terms."""

from collections.abc import Collection, Mapping
from typing import Any

from django import forms
from typing_extensions import override

from inventory.tables.columns import AMOUNT_MAX
from ledger.ordering.supplier_terms import COLUMNS, DAYS, LONGEST_LEAD_CENTIDAYS
from ledger.services import SetSupplierTerms
from webui.shell.fields import DaysField, MoneyField, ShownField, TextField, TickField, UuidField
from webui.shell.forms import PageForm


class DayBoxes(forms.Widget):
    """One box for each day of the week: `day-Mon` and so on."""

    @override
    def value_from_datadict(
        self, data: Mapping[str, Any], files: Mapping[str, Any], name: str
    ) -> list[str]:
        """Return the ticked days."""
        return [day for day in DAYS if data.get(f"day-{day}", "").strip()]


class OrderDaysField(forms.Field):
    """Ticked days as a mask: bit 0 for Monday to bit 6 for Sunday.

    The service refuses a mask without a day.
    """

    widget = DayBoxes

    def __init__(self) -> None:
        super().__init__(required=False)

    @override
    def to_python(self, value: Collection[str] | None) -> int:
        return sum(1 << bit for bit, day in enumerate(DAYS) if day in (value or ()))


class TermsForm(PageForm):
    """The terms of one supplier, and the terms that the page showed."""

    minimum_order = MoneyField(high=AMOUNT_MAX)
    lead_time = DaysField(high=LONGEST_LEAD_CENTIDAYS)
    shown = ShownField(COLUMNS)
    command_id = UuidField()
    supplier = TextField()
    is_active = TickField()
    order_days = OrderDaysField()
    email = TextField()
    address = TextField()

    def clean_is_active(self) -> bool:
        """Return True if the browser sent the box, with any value: it sends only ticked boxes."""
        return "is_active" in self.data

    @property
    def ticked_days(self) -> list[str]:
        """The days whose boxes were ticked."""
        days: list[str] = self["order_days"].data
        return days

    def terms(self) -> SetSupplierTerms:
        """Return the terms; raise `ServiceError` with the first field that is refused."""
        values = self.cleaned()
        return SetSupplierTerms(
            code=values["supplier"],
            is_active=values["is_active"],
            minimum_order_minor=values["minimum_order"],
            order_days_mask=values["order_days"],
            lead_time_centidays=values["lead_time"],
            email=values["email"],
            address=values["address"],
        )

"""Forms of the receiving desk: a delivery with its rows, and the correction of a receipt."""

from collections.abc import Mapping
from typing import Any, Final

from django.core.exceptions import ValidationError
from typing_extensions import override

from webui.shell.fields import CodeField, IdField, TextField, UuidField, WholeNumberField
from webui.shell.forms import PageForm

REASONS: Final = ("short", "over", "damaged", "refused", "wrong item")
REFUSED: Final = "refused"
REST: Final = "rest"


class AcceptForm(PageForm):
    """The button of a delivery: rows left empty arrived as expected, or they didn't arrive."""

    accept = CodeField((REST, "typed"), rule="rest or typed")


class RowPart(PageForm):
    """Base of forms of one row. Its inputs have the row's name as suffix: `received-12-0`."""

    @override
    def add_prefix(self, field_name: str) -> str:
        return f"{field_name}-{self.prefix}"


class ExpectedForm(RowPart):
    """The units that the page expected for one row."""

    expected = IdField()


class RowForm(RowPart):
    """The delivery of one row, and the open units that the page showed.

    Units that differ from the expected ones need a reason.
    """

    received = WholeNumberField(required=False)
    damaged = WholeNumberField(required=False)
    reason = CodeField(REASONS, required=False)
    shown = IdField()

    def __init__(self, data: Mapping[str, Any], name: str, *, sku: str, expected: int) -> None:
        super().__init__(data, prefix=name)
        self._expected_units = expected
        for field in ("received", "damaged", "reason"):
            self.fields[field].label = f"{field} of {sku}"

    @property
    def is_empty(self) -> bool:
        """True if nothing was typed."""
        return not any(self.text(name) for name in ("received", "damaged", "reason"))

    @override
    def clean(self) -> None:
        if {"received", "damaged", "reason"} & self.errors.keys():
            return
        reason, damaged = self.cleaned_data["reason"], self.cleaned_data["damaged"] or 0
        received = self.cleaned_data["received"]
        if received is None:
            received = 0 if reason == REFUSED else max(0, self._expected_units - damaged)
        self.cleaned_data |= {"received": received, "damaged": damaged}
        if reason == REFUSED and received + damaged:
            rule = "0 for refused goods: they are not received"
            self._refuse("received", received + damaged, rule)
        elif not reason and (damaged or received != self._expected_units):
            rule = f"a reason, because {self._expected_units} were expected undamaged"
            self._refuse("reason", f"{received:,} received, {damaged:,} damaged", rule)

    def _refuse(self, field: str, value: object, rule: str) -> None:
        self.add_error(field, ValidationError(rule, params={"value": value}))


class CorrectionForm(PageForm):
    """Other units of a receipt, and the version of it that the page showed."""

    received = WholeNumberField()
    damaged = WholeNumberField()
    receipt = IdField()
    reason = TextField()
    shown_version = TextField()
    command_id = UuidField()

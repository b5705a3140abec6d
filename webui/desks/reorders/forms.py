"""Forms of the reorders desk."""

from collections.abc import Mapping, Sequence
from typing import Final

from django import forms
from django.core.exceptions import ValidationError
from typing_extensions import override

from ledger.services import ApproveReorder, Part
from webui.shell.fields import (
    DayField,
    HiddenField,
    TextField,
    UuidField,
    WholeNumberField,
    is_digits,
)
from webui.shell.forms import PageForm

# A need is seldom split over more than three suppliers or days; the service takes up to ten.
FIRST_PARTS: Final = (1, 2, 3)


class PartForm(PageForm):
    """One part of a split order: `units2`, `supplier2` and `due_on2` are those of part 2."""

    units = WholeNumberField(low=1)
    supplier = TextField()
    due_on = DayField(required=False)

    def __init__(self, data: Mapping[str, str], number: int) -> None:
        super().__init__(data, prefix=str(number))
        self.fields["units"].label = f"Units of part {number}"
        self.fields["due_on"].label = f"Due day of part {number}"

    @override
    def add_prefix(self, field_name: str) -> str:
        return f"{field_name}{self.prefix}"

    @property
    def is_filled(self) -> bool:
        """True if units were typed."""
        return bool(self.text("units"))

    def part(self) -> Part:
        """Return the part; raise `ServiceError` with the first field that is refused."""
        values = self.cleaned()
        return Part(values["units"], values["supplier"] or None, values["due_on"])


class PicksField(forms.Field):
    """Ticked needs, each as `revision@reorder_id`, with the revision that was shown."""

    widget = forms.SelectMultiple

    def __init__(self) -> None:
        super().__init__(error_messages={"required": "tick at least one need first"})

    @override
    def to_python(self, value: Sequence[str] | None) -> list[ApproveReorder]:
        return [_picked(text) for text in value or ()]


def _picked(text: str) -> ApproveReorder:
    revision, _, reorder_id = text.partition("@")
    if not is_digits(revision):
        raise ValidationError(HiddenField.rule, code="invalid")
    return ApproveReorder(reorder_id, int(revision))


class PicksForm(PageForm):
    """The needs whose boxes are ticked."""

    pick = PicksField()
    command_id = UuidField()

"""Forms of a new item: its policy, and the item with its opening stock."""

from collections.abc import Mapping
from typing import Any, Final

from django.core.exceptions import ValidationError
from typing_extensions import override

from ledger.messages import gettext_noop
from ledger.ranging.service import NewItem
from webui.desks.ranging.columns import FIELDS
from webui.shell.fields import CodeField, HiddenField, TextField, UuidField
from webui.shell.forms import PageForm

ZERO: Final = "zero"
OPENINGS: Final = (
    (ZERO, gettext_noop("0: nothing has arrived yet")),
    ("unknown", gettext_noop("Not known: store staff count it")),
)


class FormerField(HiddenField):
    """An input that only earlier versions of the page have. A form with this input is refused."""

    @override
    def to_python(self, value: object) -> None:
        if value is not None:
            raise ValidationError(self.error_messages["invalid"], code="invalid")


class PolicyForm(PageForm):
    """The policy of a new item; an empty input takes the default of its column."""

    supplier = TextField()

    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__(data)
        # Pages of earlier versions have inputs with the full names of the columns. This form
        # doesn't read these inputs, so it refuses such a page if it is still open in a browser.
        former = [field.column for field in FIELDS if field.has_decimals]
        self.fields |= {column: FormerField(required=False) for column in former}
        self.fields |= {field.name: field.form_field() for field in FIELDS}

    def policy(self) -> dict[str, object]:
        """Return the typed values by column; raise `ServiceError` for a refused field."""
        values = self.cleaned()
        policy = {"supplier": values["supplier"]} | {
            field.column: values[field.name] for field in FIELDS
        }
        return {column: value for column, value in policy.items() if value not in (None, "")}


class ItemForm(PolicyForm):
    """A new item of a location, with its opening stock."""

    opening = CodeField(dict(OPENINGS))
    location = TextField()
    sku = TextField()
    name = TextField()
    command_id = UuidField()

    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__(data)
        # Move this field to the end, so that a page shows refused fields of the policy first.
        self.fields["command_id"] = self.fields.pop("command_id")

    def item(self) -> NewItem:
        """Return the item; raise `ServiceError` with the first field that is refused."""
        values = self.cleaned()
        return NewItem(
            location=values["location"],
            sku=values["sku"],
            policy=self.policy(),
            name=values["name"],
            opening_units=0 if values["opening"] == ZERO else None,
        )

"""One field of a new item's policy: its label, its limits, and the rules that read it."""

from typing import Final, NamedTuple

from django import forms

from inventory.tables.columns import QUANTITY_MAX
from webui.shell.fields import DaysField, MoneyField, PercentField, TextField, WholeNumberField

# {suffix of a column that holds a share: number that is stored for 1 per cent}
_PARTS: Final = {"_permille": 10, "_bp": 100}
Use = dict[str, tuple[str, ...]]


class Field(NamedTuple):
    """A column of `item_location` with its label.

    `options` are the pairs (value, label) to choose from. Without options, people type a number.
    The number may have decimals only if the column ends in `_minor` (money), `_centidays` (time
    spans), `_permille` or `_bp` (per cent).

    The rules read this field if `used` is empty, or if one of the conditions in `used` is true. A
    condition is {name of a field: values}. It is true if each of its fields has one of its values.
    """

    column: str
    label: str
    options: tuple[tuple[str, str], ...] = ()
    low: int = 0
    high: int = QUANTITY_MAX
    default: str = ""
    used: tuple[Use, ...] = ()

    @property
    def used_text(self) -> str:
        """The conditions in `used` as text: `replenish_family=RS,RsS levels=fixed | levels=…`.

        A blank means "and", a bar means "or". By this text, the page's script decides whether to
        hide the field.
        """
        return " | ".join(
            " ".join(f"{name}={','.join(values)}" for name, values in use.items())
            for use in self.used
        )

    @property
    def name(self) -> str:
        """The name of the field in the form: the column without the suffix of its unit."""
        name = self.column
        for suffix in ("_minor", "_centidays", *_PARTS):
            name = name.removesuffix(suffix)
        return name

    @property
    def has_decimals(self) -> bool:
        """True for an amount, a span or a share, which people type with decimals."""
        return self.name != self.column

    def form_field(self) -> forms.Field:
        """Return the form field, whose input may be empty. The ledger checks a chosen option."""
        if self.options:
            return TextField()
        if not self.has_decimals:
            return WholeNumberField(low=self.low, high=self.high, label=self.label, required=False)
        limits: dict[str, int] = {"low": self.low, "high": self.high}
        for suffix, parts in _PARTS.items():
            if self.column.endswith(suffix):
                return PercentField(parts=parts, label=self.label, required=False, **limits)
        hundredths = MoneyField if self.column.endswith("_minor") else DaysField
        return hundredths(label=self.label, required=False, **limits)

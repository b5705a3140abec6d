"""One field of a new item's policy: its label, its limits, and the rules that read it."""

from typing import Final, NamedTuple

from django import forms

from inventory.tables.columns import QUANTITY_MAX
from webui.shell.fields import DaysField, MoneyField, PercentField, TextField, WholeNumberField

# {suffix of the name of a column that holds a share: number of its parts in 1 per cent}
_PARTS: Final = {"_permille": 10, "_bp": 100}
Use = dict[str, tuple[str, ...]]


class Field(NamedTuple):
    """A column of `item_location` with its label.

    With `options`, people choose one of these pairs (value, label). Without options, they type a
    number. It may have decimals only if the column ends in `_minor` (money), `_centidays` (time
    spans), `_permille` or `_bp` (per cent).

    `used` states when the rules read this field: always if `used` is empty, else if one of its
    conditions is true. A condition is true if every field that it names has a listed value.
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
        """`used` for the page: `replenish_family=RS,RsS levels=fixed | replenish_family=par`."""
        return " | ".join(
            " ".join(f"{name}={','.join(values)}" for name, values in use.items())
            for use in self.used
        )

    @property
    def name(self) -> str:
        """The name of the field in the form."""
        name = self.column
        for suffix in ("_minor", "_centidays", *_PARTS):
            name = name.removesuffix(suffix)
        return name

    @property
    def has_decimals(self) -> bool:
        """True for an amount, a span or a share, which people type with decimals."""
        return self.name != self.column

    def form_field(self) -> forms.Field:
        """Return the form field for the input, which may be empty. The ledger checks options."""
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

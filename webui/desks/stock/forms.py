"""The form for the part of a policy that people may change on the page of an item."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from inventory.tables.columns import AMOUNT_MAX
from ledger.messages import gettext_noop
from webui.shell.fields import CodeField, MoneyField, ShownField, UuidField, WholeNumberField
from webui.shell.forms import PageForm

PRICE_MODES: Final = {
    "off": gettext_noop("no rule-made prices"),
    "advise": gettext_noop("the rules propose, a person approves"),
    "auto": gettext_noop("small changes are written automatically"),
}
MOST_PERMILLE: Final = 1000


class PolicyForm(PageForm):
    """The columns that the person may change, and their values that the page showed.

    People type an amount in major units, so its input has the name of the column without `_minor`.
    """

    auto_max = MoneyField(high=AMOUNT_MAX, label=gettext_noop("Automatic limit"))
    price_mode = CodeField(PRICE_MODES)
    auto_permille = WholeNumberField(
        high=MOST_PERMILLE, label=gettext_noop("Largest automatic change")
    )
    shown = ShownField()
    command_id = UuidField()

    def __init__(self, data: Mapping[str, Any], columns: Collection[str]) -> None:
        super().__init__(data)
        self._inputs = {column: column.removesuffix("_minor") for column in columns}
        for name in {"auto_max", "price_mode", "auto_permille"} - {*self._inputs.values()}:
            del self.fields[name]
        self.fields["shown"] = ShownField(columns)

    def changes(self) -> dict[str, object]:
        """Return the value of each column; raise `ServiceError` with the first refused field."""
        values = self.cleaned()
        return {column: values[name] for column, name in self._inputs.items()}

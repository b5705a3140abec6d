"""Forms of the prices desk."""

from ledger.messages import gettext_noop
from ledger.pricing.prices import MOST_PRICE
from webui.shell.fields import CodeField, MoneyField, TextField
from webui.shell.forms import PageForm

ON, OFF = "1", "0"


class PriceForm(PageForm):
    """A price that a person types, and the price that they have confirmed after a warning."""

    price = MoneyField(low=1, high=MOST_PRICE)
    meant = TextField()

    @property
    def is_confirmed(self) -> bool:
        """True if the confirmation is for the price typed now, not for an earlier price."""
        return bool(self.text("meant")) and self.text("meant") == self.text("price")


class StopForm(PageForm):
    """The switch that stops every rule-made price, or allows them again."""

    stop = CodeField(
        (ON, OFF), rule=gettext_noop("1 to stop rule-made prices, or 0 to allow them again")
    )

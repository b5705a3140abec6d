"""Forms of the people desk."""

from typing import Any

from webui.accounts.person import StoreAccess
from webui.shell.fields import DayField, ManyField, TextField
from webui.shell.forms import PageForm


class AccountForm(PageForm):
    """An account with its roles and stores; the service checks all of them."""

    person = TextField()
    roles = ManyField()
    everywhere = TextField()
    stores = ManyField()
    regions = ManyField()

    @property
    def places(self) -> StoreAccess:
        """The stores and regions that were picked."""
        values = self.cleaned()
        return StoreAccess(values["everywhere"] == "1", values["stores"], values["regions"])

    @property
    def kept(self) -> dict[str, Any]:
        """The input of a refused form, for the page that shows the form again."""
        return {
            "name": self.data.get("person", ""),
            "roles": self.cleaned()["roles"],
            "places": self.places,
        }


class ChangeForm(AccountForm):
    """One change of an account.

    `shown_version` and `shown_factor` are the versions of the account and of its second factor that
    the page showed.
    """

    action = TextField()
    shown_version = TextField()
    shown_factor = TextField()


class DayForm(PageForm):
    """The day whose refused requests are listed. Without a day, all days are listed."""

    day = DayField(required=False)

"""Forms of the desk History."""

from cdc.contracts.history_requests import FORMS, RULES
from ledger.messages import gettext_noop
from ledger.requests.service import AskHistory
from ledger.reviews.queries import APPROVED, REJECTED, WITHDRAWN
from webui.shell.fields import CodeField, TextField, UuidField, WholeNumberField
from webui.shell.forms import PageForm

CONFIRM, CANCEL = "confirm", "cancel"
LONGEST_REASON = 500
MOST_GROWTH = 100_000


class AskForm(PageForm):
    """A request: its kind, and its arguments by name. The service checks the arguments."""

    kind = CodeField(tuple(FORMS), label="request")
    command_id = UuidField()

    def wanted(self) -> AskHistory:
        """Return the request with every argument that was typed."""
        kind = self.cleaned()["kind"]
        return AskHistory(kind, {name: text for name in RULES if (text := self.text(name))})


class ActForm(PageForm):
    """The confirmation or the cancellation of a request."""

    action = CodeField((CONFIRM, CANCEL))
    command_id = UuidField()


class VerdictForm(PageForm):
    """A verdict on a review, its reason, and the number of further keys that may differ later.

    An approver accepts that up to `growth` further keys differ at the switch.
    """

    action = CodeField((APPROVED, REJECTED, WITHDRAWN), label="verdict")
    command_id = UuidField()
    reason = TextField()
    growth = WholeNumberField(high=MOST_GROWTH, label=gettext_noop("more keys"), required=False)

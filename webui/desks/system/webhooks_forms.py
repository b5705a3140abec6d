"""The form of one action on a webhook."""

from typing import Final

from webui.shell.fields import CodeField, IdField, TextField, UuidField
from webui.shell.forms import PageForm

ACTIONS: Final = ("test", "stop", "resume", "replay", "delete")


class WebhookForm(PageForm):
    """A webhook and the action on it; `message` names one dead message."""

    webhook = IdField()
    action = CodeField(ACTIONS, rule=", ".join(ACTIONS))
    message = TextField()
    command_id = UuidField()

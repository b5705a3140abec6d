"""The form of the tasks desk."""

from webui.shell.fields import IdField
from webui.shell.forms import PageForm


class TaskForm(PageForm):
    """The task of a decision; its form calls it the proposal, as on every desk."""

    proposal = IdField()

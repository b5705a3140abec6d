"""The rows and filters of the tasks desk, as its template reads them."""

from dataclasses import dataclass
from uuid import UUID

from webui.desks.tasks.queries import Task
from webui.shell.desk import Refusal


@dataclass(frozen=True, slots=True)
class Card:
    """A task with its text, the next step with its URL, and a refusal of the person's command.

    `can_acknowledge` is True if the person may acknowledge the variance of a count.
    """

    task: Task
    label: str
    role: str
    says: str
    step: str
    url: str
    can_acknowledge: bool
    refusal: Refusal | None
    command_id: UUID


@dataclass(frozen=True, slots=True)
class RoleFilter:
    """A filter by role, with its number of open tasks as text: `12` or `1,000+`."""

    label: str
    url: str
    is_current: bool
    tasks: str


@dataclass(frozen=True, slots=True)
class KindFilter:
    """A filter by kind, with its number of open tasks as text: `12` or `1,000+`.

    `without` is the URL of the list without this filter.
    """

    label: str
    url: str
    without: str
    is_current: bool
    tasks: str

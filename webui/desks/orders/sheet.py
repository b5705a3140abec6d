"""The summary of an order: its status, the sums of its lines, and the columns of their table."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from ledger.messages import gettext_noop
from webui.desks.orders.lines import Line
from webui.shell.listing import Column

TO: Final = gettext_noop("To")
LINE_COLUMNS: Final = (
    Column("", gettext_noop("Item"), "wide"),
    Column("", TO),
    Column("", gettext_noop("Packs"), "n second"),
    Column("", gettext_noop("Units"), "n"),
    Column("", gettext_noop("Received"), "n"),
    Column("", gettext_noop("Open"), "n"),
    Column("", gettext_noop("Value"), "n"),
    Column("", gettext_noop("Due")),
    Column("", gettext_noop("Status")),
    Column("", gettext_noop("Details"), "do", is_hidden=True),
)


def order_status(*, lines: int, drafts: int, closed: int, units: int, open_units: int) -> str:
    """Return the status of an order as a whole, not translated.

    It is `draft` if a line is a draft, `closed` if all lines are closed, and `part received` if
    units have arrived. Otherwise it is `on its way`.
    """
    if drafts:
        return "draft"
    if closed == lines:
        return "closed"
    if open_units < units:
        return gettext_noop("part received")
    return gettext_noop("on its way")


def total_minor(lines: Sequence[Line]) -> int | None:
    """Return the cost of all promised units; None if the cost of a line is not known."""
    values = [line.value_minor for line in lines if line.value_minor is not None]
    return sum(values) if len(values) == len(lines) else None


@dataclass(frozen=True, slots=True)
class Summary:
    """The sums of an order's lines.

    `due_on` is the earliest due day of the lines with open units. `coming_lines` is the number of
    lines with open units that aren't drafts, and `coming_units` are the open units of these lines.
    """

    status: str
    lines: int
    units: int
    received_units: int
    open_units: int
    coming_units: int
    coming_lines: int
    late_lines: int
    late_drafts: int
    due_on: date | None
    value_minor: int | None
    is_of_many_stores: bool

    @property
    def state(self) -> str:
        """The status as the attribute `data-state`, by which CSS chooses colour and shape."""
        return self.status.replace(" ", "-")


def summary_of(lines: Sequence[Line]) -> Summary:
    """Return the sums of all lines of an order."""
    sent = [line for line in lines if line.status != "draft"]
    coming = [line for line in sent if line.open_units]
    units = sum(line.promised_units for line in lines)
    open_units = sum(line.open_units for line in lines)
    return Summary(
        status=order_status(
            lines=len(lines),
            drafts=len(lines) - len(sent),
            closed=sum(1 for line in lines if line.status == "closed"),
            units=units,
            open_units=open_units,
        ),
        lines=len(lines),
        units=units,
        received_units=sum(line.received_units for line in lines),
        open_units=open_units,
        coming_units=sum(line.open_units for line in coming),
        coming_lines=len(coming),
        late_lines=sum(1 for line in sent if line.is_overdue),
        late_drafts=sum(1 for line in lines if line.status == "draft" and line.is_overdue),
        due_on=min(
            (line.due_on for line in lines if line.open_units and line.due_on), default=None
        ),
        value_minor=total_minor(lines),
        is_of_many_stores=len({line.location for line in lines}) > 1,
    )


def columns_for(columns: Sequence[Column], summary: Summary) -> list[Column]:
    """Return the columns of a table of lines; leave out the store if all lines have the same."""
    is_shown = summary.is_of_many_stores
    return [column for column in columns if is_shown or column.label != TO]

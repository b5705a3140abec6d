"""Rows of a list in the admin, with a label for each cell.

A phone shows the cells of a row one below the other, each with its label.
"""

from dataclasses import dataclass
from functools import cached_property

from django.contrib.admin.utils import (
    display_for_field,
    display_for_value,
    label_for_field,
    lookup_field,
)
from django.contrib.admin.views.main import PAGE_VAR, ChangeList
from django.db.models import Model


@dataclass(frozen=True, slots=True)
class Cell:
    """One column's label, and its text in one row."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class ListedRow:
    """A row: its first cell, which is a link if `url` isn't empty, and its other cells."""

    url: str
    first: Cell
    others: list[Cell]


class ListedRows(ChangeList):
    """One page of a table, with the URLs of the previous and the next page."""

    @cached_property
    def rows(self) -> list[ListedRow]:
        """The rows of this page."""
        return [self._row(row) for row in self.result_list]

    @property
    def previous_url(self) -> str:
        """The query string of the page before this one; empty on the first page."""
        return self.get_query_string({PAGE_VAR: self.page_num - 1}) if self.page_num > 1 else ""

    @property
    def next_url(self) -> str:
        """The query string of the page after this one; empty on the last page."""
        is_last = self.page_num >= self.paginator.num_pages
        return "" if is_last else self.get_query_string({PAGE_VAR: self.page_num + 1})

    def _row(self, row: Model) -> ListedRow:
        first, *others = [self._cell(str(name), row) for name in self.list_display]
        return ListedRow(self.url_for_result(row) if self.list_display_links else "", first, others)

    def _cell(self, name: str, row: Model) -> Cell:
        label = str(label_for_field(name, self.model, self.model_admin))
        field, _, value = lookup_field(name, row, self.model_admin)
        shown = (
            display_for_value(value, "") if field is None else display_for_field(value, field, "")
        )
        return Cell(label, str(shown))

"""Forms of the reorders desk."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from typing_extensions import override

from ledger.messages import gettext_noop
from ledger.services import ApproveReorder, NotOrdered, Part
from webui.shell.fields import (
    DayField,
    HiddenField,
    ManyField,
    TextField,
    TickField,
    UuidField,
    WholeNumberField,
    is_digits,
)
from webui.shell.forms import PageForm

# A need is seldom split over more than three suppliers or days. The service allows ten parts.
FIRST_PARTS: Final = (1, 2, 3)
PACKS: Final = "packs-"
_PACKS_RULE: Final = gettext_noop("a whole number from 1")


class PartForm(PageForm):
    """One part of a split order. Part 2 has the inputs `units2`, `supplier2` and `due_on2`."""

    units = WholeNumberField(low=1)
    supplier = TextField()
    due_on = DayField(required=False)

    def __init__(self, data: Mapping[str, str], number: int) -> None:
        super().__init__(data, prefix=str(number))
        self.fields["units"].label = gettext("Units of part %(number)s") % {"number": number}
        self.fields["due_on"].label = gettext("Due day of part %(number)s") % {"number": number}

    @override
    def add_prefix(self, field_name: str) -> str:
        return f"{field_name}{self.prefix}"

    @property
    def is_filled(self) -> bool:
        """True if units were typed."""
        return bool(self.text("units"))

    def part(self) -> Part:
        """Return the part; raise `ServiceError` with the first field that is refused."""
        values = self.cleaned()
        return Part(values["units"], values["supplier"] or None, values["due_on"])


class PicksField(forms.Field):
    """Ticked needs, each as `revision@reorder_id`, with the revision that the page showed."""

    widget = forms.SelectMultiple

    def __init__(self) -> None:
        super().__init__(required=False)

    @override
    def to_python(self, value: Sequence[str] | None) -> list[ApproveReorder]:
        return [_picked(text) for text in value or ()]


def _picked(text: str) -> ApproveReorder:
    revision, _, reorder_id = text.partition("@")
    if not is_digits(revision):
        raise ValidationError(HiddenField.rule, code="invalid")
    return ApproveReorder(reorder_id, int(revision))


class PickField(forms.Field):
    """One need as `revision@reorder_id`: the value of the button that was pressed in its row."""

    def __init__(self) -> None:
        super().__init__(required=False)

    @override
    def to_python(self, value: str | None) -> ApproveReorder | None:
        return _picked(value) if value else None


class PicksForm(PageForm):
    """The ticked needs, or the need whose button was pressed, and the typed packs of every row.

    The name of an input states the pack and the need's id: `packs-6@R:…` for packs of 6 units. So a
    later change of the pack doesn't change the quantity that the person saw. `meant` has the
    confirmed quantities, each as `units@reorder_id`.
    """

    pick = PicksField()
    one = PickField()
    meant = ManyField()
    do = TextField()
    below_minimum = TickField()
    command_id = UuidField()

    @override
    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if not self.errors and not values["pick"] and values["one"] is None:
            self.add_error("pick", gettext("tick at least one need first"))
        return values

    @property
    def packs(self) -> dict[str, str]:
        """The typed number of packs, as text, by reorder id."""
        return {reorder_id: text for reorder_id, (_, text) in self._packs().items()}

    @property
    def ticked(self) -> list[str]:
        """The values of all ticked boxes, also values that the form refuses."""
        found = self.fields["pick"].widget.value_from_datadict(self.data, self.files, "pick")
        return list(found or ())

    def picks_again(self, reorder_id: str) -> bool:
        """Return True if the box of this need was ticked, at any revision."""
        return any(text.partition("@")[2] == reorder_id for text in self.ticked)

    def units_in_packs(self, reorder_id: str, pack: int) -> int | None:
        """Return a need's typed packs times `pack`; None if they aren't a whole number above 0."""
        text = self.packs.get(reorder_id, "")
        return pack * int(text) if _is_count(text) else None

    def _packs(self) -> dict[str, tuple[str, str]]:
        found = {}
        for name, text in self.typed.items():
            pack, _, reorder_id = name.removeprefix(PACKS).partition("@")
            if name.startswith(PACKS):
                found[reorder_id] = (pack, text)
        return found

    def with_units(
        self, picks: Sequence[ApproveReorder]
    ) -> tuple[list[ApproveReorder], list[NotOrdered]]:
        """Return (needs with their typed units, needs whose packs are refused).

        A need without an input for packs keeps its proposed units. Packs are refused if the typed
        text isn't a whole number above 0.
        """
        packs, meant = self._packs(), self.cleaned()["meant"]
        good: list[ApproveReorder] = []
        bad: list[NotOrdered] = []
        for need in picks:
            pack, text = packs.get(need.reorder_id, ("", ""))
            if need.reorder_id not in packs:
                good.append(need)
            elif _is_count(pack) and _is_count(text):
                units = int(pack) * int(text)
                is_confirmed = f"{units}@{need.reorder_id}" in meant
                good.append(replace(need, units=units, is_confirmed=is_confirmed))
            else:
                bad.append(
                    NotOrdered(
                        need.reorder_id,
                        gettext("Packs: %(packs_rule)s; got “%(text)s”.")
                        % {"packs_rule": _PACKS_RULE, "text": text[:20]},
                    )
                )
        return good, bad


def _is_count(text: str) -> bool:
    """Return True for a whole number from 1 to 9,999,999."""
    return is_digits(text, 7) and int(text) > 0

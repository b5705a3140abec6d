"""Forms of the admin. Fields and limits come from the models, rules from the ledger's services."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from django.forms import ModelForm, Textarea
from django.utils.translation import gettext
from typing_extensions import override

from ledger.kernel.errors import FormReused
from ledger.messages import sentence
from ledger.models import Location
from ledger.services import Conflict, LedgerError, ServiceError
from webui.shell.fields import ShownField
from webui.shell.forms import CommandForm
from webui.translation.messages import translate

if TYPE_CHECKING:  # Django's class takes no parameter at run time
    from django.db.models import Model

    _Form = ModelForm[Model]
else:
    _Form = ModelForm


class ReferenceForm(_Form):
    """A form that shows a service's error at the field that the error names."""

    refusal: ClassVar[LedgerError | None] = None

    @override
    def validate_unique(self) -> None:
        """Do nothing, because the service checks uniqueness.

        The second click of a double click sends the form again, and the service recognises the
        repetition. A check here would refuse it, because the first click has added the row.
        """

    @override
    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        match self.refusal:
            case ServiceError(field=field, rule=rule):
                shown = gettext("%(rule)s. Nothing was saved.") % {
                    "rule": sentence(rule, translate)
                }
                self.add_error(field if field in self.fields else None, shown)
            case FormReused(what_changed=what):
                self.add_error(None, sentence(what, translate))
            case Conflict(what_changed=what):
                shown = gettext("%(what)s. Nothing was saved. Check the form and save again.") % {
                    "what": sentence(what, translate)
                }
                self.add_error(None, shown)
            case _:
                pass
        return cleaned


class ShownForm(CommandForm):
    """The command id of a change, and the values of the row that the page showed."""

    shown = ShownField()

    def __init__(self, data: Mapping[str, Any], columns: Collection[str]) -> None:
        super().__init__(data)
        self.fields["shown"] = ShownField(columns)


class LinesInput(Textarea):
    """An input of several lines. Browsers send line breaks as CR LF; the value has LF."""

    @override
    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> Any:
        # Convert before the field checks the length. Browsers count a line break as one character,
        # so the server must count it as one, too.
        sent = super().value_from_datadict(data, files, name)
        return sent.replace("\r\n", "\n") if isinstance(sent, str) else sent


class LocationForm(ReferenceForm):
    """The form of a location."""

    class Meta:
        """Options of Django: the model and the fields that people fill in."""

        model = Location
        fields = ("code", "name", "kind", "address")
        widgets: ClassVar = {"address": LinesInput(attrs={"rows": 4})}

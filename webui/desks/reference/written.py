"""A table of the admin whose rows operators add and change.

A change goes through a service of the ledger, which checks it and writes one audit entry in the
same transaction. A refused value is shown at its field.
"""

import json
from dataclasses import fields
from typing import Any, ClassVar, Final
from uuid import uuid4

from django.contrib import messages
from django.contrib.admin.options import IS_POPUP_VAR
from django.contrib.admin.utils import unquote
from django.core.exceptions import BadRequest
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern
from django.utils.text import capfirst
from django.utils.translation import gettext
from typing_extensions import override

import webui.shell.code_path  # noqa: F401 -- registers the converter `code`
from ledger.items.reference import Describe
from ledger.services import Conflict, LedgerError, add_reference, change_reference
from webui.desks.reference.forms import ReferenceForm, ShownForm
from webui.desks.reference.history import changes_of
from webui.desks.reference.site import WRITE
from webui.desks.reference.tables import Context, ReadTable
from webui.shell.forms import CommandForm, PageForm

# Attribute of a request. It holds the `LedgerError` with which the service refused the form.
_REFUSAL: Final = "admin_refusal"
# Inputs of Django's own admin pages, which this admin refuses.
_NOT_OFFERED: Final = frozenset({"_saveasnew", IS_POPUP_VAR})


class WrittenTable(ReadTable):
    """A list whose rows operators add and change. No row is deleted: facts refer to its code."""

    form = ReferenceForm
    kind: ClassVar[type[Describe]]
    # Name of the route that imports rows; empty if there is none.
    import_name: ClassVar[str] = ""

    def command(self, row: Any) -> Describe:  # noqa: ANN401 -- a row of the table's own model
        """Return the ledger's command that writes `row`, which has the values of a checked form."""
        raise NotImplementedError

    @property
    def described(self) -> list[str]:
        """The columns that a command changes."""
        return [field.name for field in fields(self.kind) if field.name != "code"]

    @override
    def get_urls(self) -> list[URLPattern]:
        return [
            *super().get_urls(),
            self.address("add/", self.add_view, "add", WRITE),
            self.address("<code:object_id>/change/", self.change_view, "change", WRITE),
            self.address("<code:object_id>/history/", self.history_view, "history"),
        ]

    @override
    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.admin_site.has_permission(request)

    @override
    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self.admin_site.has_permission(request)

    @override
    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[str]:
        return [*super().get_readonly_fields(request, obj), *([] if obj is None else ["code"])]

    @override
    def get_form(
        self, request: HttpRequest, obj: Model | None = None, change: bool = False, **kwargs: Any
    ) -> Any:
        form: Any = super().get_form(request, obj, change, **kwargs)
        # Django creates a new form class for each request. So a form of another request doesn't
        # show this refusal.
        form.refusal = getattr(request, _REFUSAL, None)
        return form

    @override
    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Return a form field; its label is the translated name of the column."""
        label = capfirst(gettext(str(db_field.verbose_name)))
        return super().formfield_for_dbfield(db_field, request, **{**kwargs, "label": label})

    @override
    def formfield_for_choice_field(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Return the form field of a column with choices, whose texts are translated."""
        choices = [(value, gettext(str(text))) for value, text in db_field.choices]
        return super().formfield_for_choice_field(
            db_field, request, **{**kwargs, "choices": choices}
        )

    @override
    def save_model(self, request: HttpRequest, obj: Model, form: Any, change: bool) -> None:
        """Execute the command of the form; raise `LedgerError` if the service refuses it."""
        command, actor = self.command(obj), request.user.get_username()
        if change:
            sent = ShownForm(request.POST, self.described).cleaned()
            change_reference(command, actor=actor, **sent)
        else:
            add_reference(command, actor=actor, **CommandForm(request.POST).cleaned())

    @override
    def response_add(self, request: HttpRequest, obj: Model, *_: Any, **__: Any) -> HttpResponse:
        """Redirect with a message about the new row.

        Django's own message has a link, which leads to a 404 for a code with a space or a `|`.
        """
        text = gettext("The %(name)s “%(row)s” was added.")
        messages.success(request, text % self._named(obj))
        if "_addanother" in PageForm(request.POST).typed:
            return HttpResponseRedirect(request.path)
        return self.response_post_save_add(request, obj)

    @override
    def response_change(self, request: HttpRequest, obj: Model) -> HttpResponse:
        """Redirect with a message about the changed row.

        Django's own message would have a link, which may lead to a 404 (see `response_add`), and
        the English name of the table.
        """
        text = gettext("The %(name)s “%(row)s” was changed.")
        messages.success(request, text % self._named(obj))
        if "_continue" in PageForm(request.POST).typed:
            return HttpResponseRedirect(request.path)
        return self.response_post_save_change(request, obj)

    def _named(self, row: Model) -> dict[str, object]:
        return {"name": gettext(str(self.opts.verbose_name)), "row": row}

    @override
    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        """Write nothing: the service has written the audit entry."""

    @override
    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        """Write nothing: the service has written the audit entry."""

    @override
    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Context = None,
    ) -> Any:
        """Show or execute the form; after a refusal, show the form again.

        Raises:
            BadRequest: the form asks for a copy or a pop-up, which no page offers.
        """
        if _NOT_OFFERED & {*PageForm(request.POST).typed, *request.GET}:
            problem = "the admin offers no copies and no pop-ups"
            raise BadRequest(problem)
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except LedgerError as refusal:
            # The transaction is rolled back. Render the form again, with the refusal at its field.
            setattr(request, _REFUSAL, refusal)
            return super().changeform_view(request, object_id, form_url, extra_context)

    @override
    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Any = None,
    ) -> HttpResponse:
        """Show the form with the id of its command and the values that the person sees.

        A refused form has status 409 if something has changed since it was shown, else 422.
        """
        shown = self._shown(request, obj.pk) if change else ""
        more = {"command_id": uuid4(), "shown": shown}
        page = super().render_change_form(request, context | more, add, change, form_url, obj)
        if request.method == "POST":
            page.status_code = 409 if self._is_conflict(request) else 422
        return page

    def _shown(self, request: HttpRequest, code: str) -> str:
        """Return the values that the person sees, as JSON {column: value} of `described`.

        The service compares them with the current values when the person saves. A refused form
        keeps the values that it was rendered with. After a conflict, the page shows the current
        values, so return these.
        """
        if request.method == "POST" and not self._is_conflict(request):
            return ShownForm(request.POST, self.described).text("shown")
        found = self.model._default_manager.filter(pk=code).values(*self.described)  # noqa: SLF001 -- Django documents it
        return json.dumps(found.first())

    def _row(self, request: HttpRequest, object_id: str) -> Model:
        """Return the row with the code in the URL; raise `Http404` if there is none."""
        row = self.get_object(request, unquote(object_id))
        if row is None:
            raise Http404
        return row

    def _is_conflict(self, request: HttpRequest) -> bool:
        return isinstance(getattr(request, _REFUSAL, None), Conflict)

    @override
    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: Context = None
    ) -> Any:
        """Add a row."""
        return super().add_view(request, form_url, extra_context)

    @override
    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: Context = None,
    ) -> Any:
        """Change a row."""
        self._row(request, object_id)
        return super().change_view(request, object_id, form_url, extra_context)

    @override
    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: Context = None
    ) -> Any:
        """Show the newest changes of a row, from the audit log."""
        row = self._row(request, object_id)
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("History of %(row)s") % {"row": row},
            "opts": self.opts,
            "original": row,
            "changes": changes_of(self.kind, str(row.pk)),
            **(extra_context or {}),
        }
        return TemplateResponse(request, "admin/object_history.html", context)

"""The page that imports codes of products from rows of a CSV file: check them, then import them."""

from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from ledger.imports.code_file import MOST_ROWS
from ledger.imports.code_import import CodePlan, ImportedCodes, check_codes, import_codes
from ledger.kernel.errors import ServiceError
from webui.accounts.roles import MANAGE_REFERENCE, requires
from webui.readmodel.figures import counted_text, units_text
from webui.shell.commands import run_command
from webui.shell.fields import CodeField, TextField, UuidField
from webui.shell.forms import PageForm
from webui.shell.page import render_page
from webui.translation.refusals import refused_text

CHECK: Final = "check"
IMPORT: Final = "import"
LISTED_BAD_ROWS: Final = 1_000


class CodesForm(PageForm):
    """Rows that a person has pasted. Pages accept no files (docs/security/asvs.md)."""

    rows = TextField()
    action = CodeField((CHECK, IMPORT))
    command_id = UuidField()


@dataclass(frozen=True, slots=True)
class Shown:
    """The state of the page: the rows, the result of their check, and a refusal."""

    rows: str = ""
    plan: CodePlan | None = None
    refusal: str = ""
    status: int = 200


@require_http_methods(["GET", "POST"])
@requires(MANAGE_REFERENCE, company=True)
def codes_import(request: HttpRequest) -> HttpResponse:
    """Show the form, check the pasted rows without writing, or import them."""
    if request.method == "GET":
        return _show(request, Shown())
    form = CodesForm(request.POST)
    try:
        rows = form.cleaned()["rows"]
        plan = check_codes(rows)
    except ServiceError as refused:
        text = gettext("%(refusal)s Nothing was saved.") % {"refusal": refused_text(refused)}
        return _show(request, Shown(form.text("rows"), None, text, 422))
    if plan.bad_rows or form.text("action") == CHECK:
        return _show(request, Shown(rows, plan, status=422 if plan.bad_rows else 200))

    def work() -> str:
        done = import_codes(
            rows, actor=request.user.get_username(), command_id=form.cleaned()["command_id"]
        )
        return _result_text(done)

    def show(refusal: str, status: int) -> HttpResponse:
        return _show(request, Shown(rows, check_codes(rows), refusal, status))

    return run_command(request, work, show, reverse("codes-import"))


def _result_text(done: ImportedCodes) -> str:
    return gettext("%(added)s added, %(changed)s changed, %(unchanged)s as before.") % {
        "added": counted_text(done.added, "code"),
        "changed": units_text(done.changed),
        "unchanged": units_text(done.unchanged),
    }


def _show(request: HttpRequest, shown: Shown) -> HttpResponse:
    bad_rows = [] if shown.plan is None else shown.plan.bad_rows
    context: dict[str, Any] = {
        "shown": shown,
        "counts": None if shown.plan is None or bad_rows else shown.plan.counts,
        "bad_rows": [(bad.line, refused_text(bad.refusal)) for bad in bad_rows[:LISTED_BAD_ROWS]],
        "bad": len(bad_rows),
        "unlisted": max(0, len(bad_rows) - LISTED_BAD_ROWS),
        "most_rows": MOST_ROWS,
        "command_id": uuid4(),
    }
    return render_page(request, "admin/codes_import.html", context, status=shown.status)

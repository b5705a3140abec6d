"""The terms of a supplier: the values of the form, and writing them."""

import json
from typing import Any, Final
from uuid import uuid4

from ledger.kernel.transactions import fetch_one
from ledger.ordering.supplier_terms import COLUMNS, DAYS, days_of
from ledger.services import set_supplier_terms
from webui.desks.suppliers.forms import TermsForm
from webui.readmodel.figures import money_text
from webui.shell.commands import changed_text
from webui.shell.desk import Refusal
from webui.shell.fields import days_text

_TERMS: Final = f"SELECT {', '.join(COLUMNS)} FROM retail.supplier WHERE code = %s"  # noqa: S608 -- names of the services


def shown_terms(code: str, refusal: Refusal | None) -> dict[str, Any] | None:
    """Return the terms for the form, with refused input if any; None if no such supplier exists.

    `shown` holds the current values: a refused person has seen them, so the next attempt is
    compared with them.
    """
    found = fetch_one(_TERMS, code)
    if found is None:
        return None
    typed = refusal.form if refusal else None
    days = days_of(found["order_days_mask"])
    ticked = days if typed is None else TermsForm(typed)["order_days"].data
    week = [{"name": day, "is_on": day in ticked} for day in DAYS]
    kept: dict[str, Any] = {} if typed is None else typed | {"is_active": "is_active" in typed}
    plain = {name: kept.get(name, found[name]) for name in COLUMNS}
    minimum = kept.get("minimum_order", money_text(found["minimum_order_minor"]))
    lead = kept.get("lead_time", days_text(found["lead_time_centidays"]))
    page = {"minimum_order": minimum, "lead_time": lead, "week": week}
    return plain | page | {"shown": json.dumps(found), "command_id": uuid4()}


def change_terms(form: TermsForm, actor: str) -> str:
    """Write the terms of the form; return the message."""
    moved = set_supplier_terms(
        form.terms(),
        shown=form.cleaned()["shown"],
        actor=actor,
        command_id=form.cleaned()["command_id"],
    )
    return changed_text(moved)

"""The terms of a supplier as a form: rendering, parsing and writing."""

import json
from typing import Any, Final
from uuid import uuid4

from inventory.tables.columns import AMOUNT_MAX
from ledger.kernel.transactions import fetch_one
from ledger.ordering.supplier_terms import COLUMNS, DAYS, LONGEST_LEAD_CENTIDAYS
from ledger.services import SetSupplierTerms, set_supplier_terms
from webui.readmodel.figures import money_text
from webui.shell.commands import (
    Form,
    changed_text,
    command_id_of,
    days_text,
    parse_days,
    parse_money,
    shown_values,
)
from webui.shell.desk import Refusal

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
    mask = found["order_days_mask"] if typed is None else _mask(typed)
    week = [{"name": day, "is_on": bool(mask >> bit & 1)} for bit, day in enumerate(DAYS)]
    kept: dict[str, Any] = {} if typed is None else typed | {"is_active": "is_active" in typed}
    plain = {name: kept.get(name, found[name]) for name in COLUMNS}
    minimum = kept.get("minimum_order", money_text(found["minimum_order_minor"]))
    lead = kept.get("lead_time", days_text(found["lead_time_centidays"]))
    page = {"minimum_order": minimum, "lead_time": lead, "week": week}
    return plain | page | {"shown": json.dumps(found), "command_id": uuid4()}


def change_terms(form: Form, actor: str) -> str:
    """Write the terms of the form; return the message."""
    terms = SetSupplierTerms(
        code=form.get("supplier", ""),
        is_active="is_active" in form,
        minimum_order_minor=parse_money(form, "minimum_order", high=AMOUNT_MAX),
        order_days_mask=_mask(form),
        lead_time_centidays=parse_days(form, "lead_time", high=LONGEST_LEAD_CENTIDAYS),
        email=form.get("email", ""),
        address=form.get("address", ""),
    )
    moved = set_supplier_terms(
        terms,
        shown=shown_values(form, COLUMNS),
        actor=actor,
        command_id=command_id_of(form),
    )
    return changed_text(moved)


def _mask(form: Form) -> int:
    return sum(1 << bit for bit, day in enumerate(DAYS) if form.get(f"day-{day}"))

"""The terms of a supplier, and the texts of the form that changes them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final
from uuid import UUID, uuid4

from ledger.kernel.rows import select_one
from ledger.ordering.supplier_terms import COLUMNS, DAYS, days_of
from webui.desks.suppliers.forms import TermsForm
from webui.readmodel.figures import money_text
from webui.shell.desk import Refusal, shown_values
from webui.shell.fields import days_text

_TERMS: Final = f"SELECT {', '.join(COLUMNS)} FROM retail.supplier WHERE code = %(code)s"  # noqa: S608 -- names of the services


@dataclass(frozen=True, slots=True)
class SupplierTerms:
    """The terms of a supplier that people may change; the fields are the columns in `COLUMNS`."""

    is_active: bool
    minimum_order_minor: int
    order_days_mask: int
    lead_time_centidays: int
    email: str
    address: str


@dataclass(frozen=True, slots=True)
class DayBox:
    """The box of one weekday: its name, for example `Mon`, and True if it is ticked."""

    name: str
    is_on: bool


@dataclass(frozen=True, slots=True)
class ShownTerms:
    """The stored terms, and the texts in the fields of the form.

    After a refusal, the fields have the texts that the person typed. `shown` holds the terms
    that the person has seen, as JSON. When the form is sent, the ledger compares `shown` with the
    terms stored then, to detect a change by another person.
    """

    stored: SupplierTerms
    is_active: bool
    minimum_order: str
    lead_time: str
    email: str
    address: str
    week: Sequence[DayBox]
    shown: str
    command_id: UUID


def shown_terms(code: str, refusal: Refusal | None) -> ShownTerms | None:
    """Return the terms of a supplier for its form, or None if no such supplier exists.

    After a refusal, the fields have the typed texts.
    """
    stored = select_one(_TERMS, {"code": code}, SupplierTerms)
    if stored is None:
        return None
    typed = refusal.form if refusal else None
    texts = typed or {}
    ticked = days_of(stored.order_days_mask) if typed is None else TermsForm(typed).ticked_days
    return ShownTerms(
        stored=stored,
        is_active=stored.is_active if typed is None else "is_active" in typed,
        minimum_order=texts.get("minimum_order", money_text(stored.minimum_order_minor)),
        lead_time=texts.get("lead_time", days_text(stored.lead_time_centidays)),
        email=texts.get("email", stored.email),
        address=texts.get("address", stored.address),
        week=[DayBox(day, day in ticked) for day in DAYS],
        shown=shown_values(asdict(stored), refusal),
        command_id=uuid4(),
    )

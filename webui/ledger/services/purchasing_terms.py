"""Terms of suppliers: whether they deliver, from which value and on which days, and where."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from webui.ledger.services import checks
from webui.ledger.services.bulk import moved_columns
from webui.ledger.services.errors import refuse
from webui.ledger.services.transactions import (
    execute,
    fetch_all,
    fetch_one,
    ledger_transaction,
    log_action,
)

ANY_DAY: Final = 127
LONGEST_LEAD_CENTIDAYS: Final = 100_000
LONGEST_TEXT: Final = 500


@dataclass(frozen=True, slots=True)
class Terms:
    """What ordering at a supplier depends on; the defaults hold for one that has no row."""

    code: str
    name: str
    is_active: bool = True
    minimum_order_minor: int = 0
    order_days_mask: int = ANY_DAY
    lead_time_centidays: int = 0
    is_named: bool = True


def terms_of(codes: Collection[str]) -> dict[str, Terms]:
    """The terms of each of these suppliers."""
    found = fetch_all(
        "SELECT code, name, is_active, minimum_order_minor, order_days_mask, lead_time_centidays"
        " FROM retail.supplier WHERE code = ANY(%s)",
        sorted(codes),
    )
    known = {row["code"]: Terms(**row) for row in found}
    return {code: known.get(code, Terms(code, code, is_named=False)) for code in codes}


def set_supplier_terms(  # noqa: PLR0913 -- one keyword per column
    *,
    code: str,
    is_active: bool | None = None,
    minimum_order_minor: int | None = None,
    order_days_mask: int | None = None,
    lead_time_centidays: int | None = None,
    email: str | None = None,
    address: str | None = None,
    actor: str | None = None,
) -> dict[str, list[object]]:
    """Change terms of a supplier; None leaves one as it is. What moved: {column: [before, after]}.

    `order_days_mask` has Monday as bit 0; lines that are ordered already keep their due day.
    """
    wanted: dict[str, object | None] = {
        "is_active": is_active,
        "minimum_order_minor": minimum_order_minor,
        "order_days_mask": order_days_mask,
        "lead_time_centidays": lead_time_centidays,
        "email": email,
        "address": address,
    }
    changes = {name: value for name, value in wanted.items() if value is not None}
    _check(changes)
    with ledger_transaction():
        before = fetch_one("SELECT * FROM retail.supplier WHERE code = %s FOR UPDATE", code)
        if before is None:
            refuse("supplier", code, "no such supplier")
        moved = moved_columns(before, changes)
        if moved:
            assignments = ", ".join(f"{name} = %s" for name in moved)
            execute(
                f"UPDATE retail.supplier SET {assignments} WHERE code = %s",  # noqa: S608 -- names are the keywords above
                *(changes[name] for name in moved),
                code,
            )
            log_action(actor=actor, action="supplier_terms", subject=code, detail=moved)
    return moved


def _check(changes: Mapping[str, object]) -> None:
    limits = {
        "minimum_order_minor": (0, checks.MOST_MINOR),
        "order_days_mask": (1, ANY_DAY),
        "lead_time_centidays": (0, LONGEST_LEAD_CENTIDAYS),
    }
    for name, value in changes.items():
        if name in limits:
            checks.whole(name, value, *limits[name])
        elif isinstance(value, str) and (len(value) > LONGEST_TEXT or "\x00" in value):
            refuse(name, value[:40], f"at most {LONGEST_TEXT} characters")

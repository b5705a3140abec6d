"""Terms of ordering from suppliers (`retail.supplier`), which buyers read and change."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Final
from uuid import UUID

from inventory.tables.columns import AMOUNT_MAX
from ledger.access.scope import require_company
from ledger.kernel import checks
from ledger.kernel.bulk_insert import Moved, moved_columns
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.idempotency import run_idempotent
from ledger.kernel.last_change import LastChange
from ledger.kernel.refusal_text import changes_text, person
from ledger.kernel.transactions import execute, log_action
from ledger.kernel.unscoped_rows import read_all, read_one
from ledger.messages import Message

ANY_DAY: Final = 127
DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
ACTION: Final = "supplier_terms"
COLUMNS: Final = (
    *("is_active", "minimum_order_minor", "order_days_mask"),
    *("lead_time_centidays", "email", "address"),
)
LONGEST_LEAD_CENTIDAYS: Final = 100_000
LONGEST_TEXT: Final = 500


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a supplier; the defaults apply to a supplier without a row in `retail.supplier`.

    `is_named` is False for a supplier without a row. `order_days_mask` has one bit per weekday on
    which the supplier takes orders; bit 0 is Monday. The lead time is in hundredths of days.
    """

    code: str
    name: str
    is_active: bool = True
    minimum_order_minor: int = 0
    order_days_mask: int = ANY_DAY
    lead_time_centidays: int = 0
    is_named: bool = True


@dataclass(frozen=True, slots=True)
class LockedSupplier:
    """One row of `retail.supplier`, locked until the transaction ends."""

    code: str
    name: str
    is_active: bool
    minimum_order_minor: int
    order_days_mask: int
    lead_time_centidays: int
    email: str
    address: str

    @property
    def terms(self) -> Mapping[str, object]:
        """The terms that people may change, by column."""
        return {name: getattr(self, name) for name in COLUMNS}


def terms_of(codes: Collection[str]) -> dict[str, Terms]:
    """Return suppliers' terms by code; a supplier without a row has the defaults."""
    found = read_all(
        Terms,
        "SELECT code, name, is_active, minimum_order_minor, order_days_mask, lead_time_centidays"
        " FROM retail.supplier WHERE code = ANY(%s)",
        sorted(codes),
    )
    known = {terms.code: terms for terms in found}
    return {code: known.get(code, Terms(code, code, is_named=False)) for code in codes}


def days_of(mask: int) -> list[str]:
    """Return the names of the days in an `order_days_mask`: ["Mon", "Wed"] for 5."""
    return [day for bit, day in enumerate(DAYS) if mask >> bit & 1]


@dataclass(frozen=True, slots=True)
class SetSupplierTerms:
    """A change of a supplier's terms; None leaves a term unchanged.

    `order_days_mask` has Monday as bit 0.
    """

    code: str
    is_active: bool | None = None
    minimum_order_minor: int | None = None
    order_days_mask: int | None = None
    lead_time_centidays: int | None = None
    email: str | None = None
    address: str | None = None

    def changes(self) -> dict[str, object]:
        """Return the terms to change, by column; raise `ServiceError` for a term out of range."""
        given = {name: value for name, value in asdict(self).items() if name in COLUMNS}
        changes = {name: value for name, value in given.items() if value is not None}
        _check(changes)
        return changes


def set_supplier_terms(
    command: SetSupplierTerms,
    *,
    shown: Mapping[str, object] | None = None,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> Moved:
    """Change terms of a supplier; return the changed terms as {column: [before, after]}.

    Lines that are ordered already keep their due day. `shown` has the terms that the person saw, by
    column. If one of these terms has changed since, nothing is written, and the `Conflict` names
    the change.
    """
    changes = command.changes()
    require_company()

    def work() -> Moved:
        return _change(command.code, changes, shown or {}, actor)

    return run_idempotent(command_id, f"{ACTION} {command.code}", actor, work, content=command)


def _change(
    code: str, changes: Mapping[str, object], shown: Mapping[str, object], actor: str | None
) -> Moved:
    """Lock the supplier; write and return the columns of `changes` that differ from its row."""
    before = _locked_supplier(code)
    _refuse_moved(before, shown)
    moved = moved_columns(before.terms, changes)
    if moved:
        _write(code, {name: changes[name] for name in moved})
        log_action(actor=actor, action=ACTION, subject=code, detail=moved)
    return moved


def _locked_supplier(code: str) -> LockedSupplier:
    sql = "SELECT * FROM retail.supplier WHERE code = %s FOR UPDATE"
    supplier = read_one(LockedSupplier, sql, code)
    if supplier is None:
        refuse("supplier", code, "no such supplier")
    return supplier


def _write(code: str, values: Mapping[str, object]) -> None:
    assignments = ", ".join(f"{name} = %s" for name in values)
    execute(
        f"UPDATE retail.supplier SET {assignments} WHERE code = %s",  # noqa: S608 -- names of COLUMNS
        *values.values(),
        code,
    )


def _refuse_moved(supplier: LockedSupplier, shown: Mapping[str, object]) -> None:
    seen = {name: shown[name] for name in COLUMNS if name in shown}
    changes = changes_text(_with_days(supplier.terms), _with_days(seen))
    if not changes:
        return
    last = read_one(
        LastChange,
        "SELECT actor, at FROM app.action_log WHERE action = %s AND subject = %s"
        " ORDER BY id DESC LIMIT 1",
        ACTION,
        supplier.code,
    )
    who = last.author if last else person(None)
    message = Message(
        "%(name)s has changed since it was shown. Last change by %(who)s: %(said)s",
        name=supplier.name,
        who=who,
        said=changes,
    )
    raise Conflict(message)


def _with_days(terms: Mapping[str, object]) -> Mapping[str, object]:
    """Return the terms with names of days, like `Mon Wed`, instead of `order_days_mask`."""
    mask = terms.get("order_days_mask")
    if not isinstance(mask, int):
        return terms
    return {**terms, "order_days_mask": " ".join(days_of(mask))}


def _check(changes: Mapping[str, object]) -> None:
    limits = {
        "minimum_order_minor": (0, AMOUNT_MAX),
        "order_days_mask": (1, ANY_DAY),
        "lead_time_centidays": (0, LONGEST_LEAD_CENTIDAYS),
    }
    for name, value in changes.items():
        if name in limits:
            checks.integer(name, value, *limits[name])
        elif isinstance(value, str) and len(value) > LONGEST_TEXT:
            refuse(
                name,
                value[:40],
                Message("at most %(longest_text)s characters", longest_text=LONGEST_TEXT),
            )

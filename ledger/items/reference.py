"""Commands by which operators add or change one product, location, supplier or product code.

A command that changes something writes one entry to the audit log. The code of a row never changes
and no row is deleted, because facts contain the codes. Imports of sales add products and locations
with `ledger.items.names`, which changes no existing row.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import ClassVar, Final
from uuid import UUID

from cdc.contracts.tables import LOCATION, PRODUCT, SUPPLIER
from ledger.access.scope import require_company
from ledger.items.codes import DescribeGtin, DescribeSupplierCode, refuse_taken
from ledger.items.names import refuse_other_case
from ledger.kernel import checks
from ledger.kernel.bulk_insert import Moved, moved_columns
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.idempotency import Done, run_command, run_idempotent
from ledger.kernel.refusal_text import changes_text
from ledger.kernel.transactions import execute, log_action
from ledger.kernel.unscoped_rows import read_one
from ledger.messages import Message

LONGEST_NAME: Final = 200
LONGEST_DEPARTMENT: Final = 100
LONGEST_ADDRESS: Final = 500
LONGEST_LOCATION: Final = 24
LONGEST_SUPPLIER: Final = 64
STORE: Final = "store"
KINDS_OF_LOCATION: Final = (STORE, "warehouse")


@dataclass(frozen=True, slots=True)
class DescribeProduct:
    """The name and department of a product; `code` is its SKU."""

    TABLE: ClassVar = PRODUCT
    code: str
    name: str
    department: str = ""

    def check(self) -> None:
        """Raise `ServiceError` with the field that breaks a rule."""
        if problem := checks.sku_problem(self.code):
            refuse("code", self.code, problem)
        _check_line("name", checks.text("name", self.name), LONGEST_NAME)
        _check_line("department", self.department, LONGEST_DEPARTMENT)


@dataclass(frozen=True, slots=True)
class DescribeLocation:
    """The name, kind and address of a store or warehouse; purchase orders print the address."""

    TABLE: ClassVar = LOCATION
    code: str
    name: str
    kind: str = STORE
    address: str = ""

    def check(self) -> None:
        """Raise `ServiceError` with the field that breaks a rule."""
        if problem := checks.location_problem(self.code):
            refuse("code", self.code, problem)
        _check_line("name", checks.text("name", self.name), LONGEST_NAME)
        checks.one_of("kind", self.kind, KINDS_OF_LOCATION)
        _check_lines("address", self.address, LONGEST_ADDRESS)


@dataclass(frozen=True, slots=True)
class DescribeSupplier:
    """The name of a supplier. Buyers change its terms with `SetSupplierTerms`."""

    TABLE: ClassVar = SUPPLIER
    code: str
    name: str

    def check(self) -> None:
        """Raise `ServiceError` with the field that breaks a rule."""
        _check_line("code", checks.text("code", self.code), LONGEST_SUPPLIER)
        if "|" in self.code or self.code != self.code.strip(" "):
            refuse("code", self.code, "no |, and no space at the start or end")
        _check_line("name", checks.text("name", self.name), LONGEST_NAME)


Describe = (
    DescribeProduct | DescribeLocation | DescribeSupplier | DescribeGtin | DescribeSupplierCode
)


def added(command: type[Describe]) -> str:
    """Return the audit log's action for a row that was added, for example `add_product`."""
    return f"add_{_noun(command)}"


def changed(command: type[Describe]) -> str:
    """Return the audit log's action for a changed row, for example `change_product`."""
    return f"change_{_noun(command)}"


def _noun(command: type[Describe]) -> str:
    return command.TABLE.partition(".")[2]


def add_reference(
    command: Describe, *, actor: str | None = None, command_id: UUID | None = None
) -> None:
    """Add a row; raise `ServiceError` for a code that is in use.

    A new SKU is also refused if it differs from a known SKU only in upper and lower case. The audit
    entry has each column as [null, value].
    """
    command.check()
    require_company()
    action = added(type(command))

    def work() -> Done:
        if isinstance(command, DescribeProduct):
            refuse_other_case("code", command.code)
        if isinstance(command, DescribeGtin | DescribeSupplierCode):
            refuse_taken(command)
            command.require_rows()
        _insert(command)
        detail = {name: [None, value] for name, value in _described(command).items()}
        log_action(actor=actor, action=action, subject=command.code, detail=detail)
        return Done()

    run_command(command_id, f"{action} {command.code}", actor, work, Done, content=command)


def change_reference(
    command: Describe,
    *,
    shown: Mapping[str, object] | None = None,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> Moved:
    """Set the columns of an existing row; return changed columns as {column: [before, after]}.

    `shown` has the values that the person saw, by column. If one of these values has changed since,
    nothing is written, and the `Conflict` names the change. If all columns have their new values
    already, no entry is written to the audit log.
    """
    command.check()
    require_company()
    action = changed(type(command))

    def work() -> Moved:
        before = _locked(command)
        _refuse_moved(before, shown or {})
        if isinstance(command, DescribeGtin | DescribeSupplierCode):
            command.require_rows()
        moved = moved_columns(asdict(before), _described(command))
        if moved:
            _update(command, {name: after for name, (_, after) in moved.items()})
            log_action(actor=actor, action=action, subject=command.code, detail=moved)
        return moved

    return run_idempotent(command_id, f"{action} {command.code}", actor, work, content=command)


def _described(command: Describe) -> dict[str, object]:
    """Return the columns that the command sets, without the code."""
    columns: dict[str, object] = asdict(command)
    del columns["code"]
    return columns


def _insert(command: Describe) -> None:
    columns = asdict(command)
    inserted = execute(
        f"INSERT INTO {command.TABLE} ({', '.join(columns)})"  # noqa: S608 -- names of the contract and of the class
        f" VALUES ({', '.join(['%s'] * len(columns))}) ON CONFLICT (code) DO NOTHING",
        *columns.values(),
    )
    if not inserted:
        refuse("code", command.code, "this code is in use: choose another one")


def _locked(command: Describe) -> Describe:
    """Return the existing row as an instance of the command's class.

    The row stays locked until the transaction ends.
    """
    statement = f"SELECT * FROM {command.TABLE} WHERE code = %s FOR UPDATE"  # noqa: S608 -- a name of the contract
    before = read_one(type(command), statement, command.code)
    if before is None:
        refuse(
            "code",
            command.code,
            Message("no such %(command)s", command=Message(_noun(type(command)))),
        )
    return before


def _update(command: Describe, values: Mapping[str, object]) -> None:
    assignments = ", ".join(f"{name} = %s" for name in values)
    execute(
        f"UPDATE {command.TABLE} SET {assignments} WHERE code = %s",  # noqa: S608 -- names of the contract and of the class
        *values.values(),
        command.code,
    )


def _refuse_moved(before: Describe, shown: Mapping[str, object]) -> None:
    now = asdict(before)
    changes = changes_text(now, {name: shown[name] for name in now if name in shown})
    if changes:
        message = Message(
            "%(code)s has changed since it was shown: %(said)s", code=before.code, said=changes
        )
        raise Conflict(message)


def _check_line(field: str, value: str, longest: int) -> None:
    """Refuse a text that is too long, or has a line break or another control character."""
    _check_lines(field, value, longest)
    if "\n" in value:
        refuse(field, value, "one line")


def _check_lines(field: str, value: str, longest: int) -> None:
    """Refuse a text that is too long, or has a control character other than a line break."""
    if len(value) > longest:
        refuse(field, value, Message("at most %(longest)s characters", longest=longest))
    if not value.replace("\n", "").isprintable():
        refuse(field, value, "printable characters only")

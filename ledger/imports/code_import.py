"""Import of codes of products from a CSV file: all rows or none.

`check_codes` compares the file with the codes that exist and writes nothing. It returns all wrong
rows. `import_codes` stores the codes of the file if no row is wrong, with one audit entry per code.
An import never moves a code to another product; a person can do that on the desk Admin.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from itertools import chain
from uuid import UUID

from cdc.contracts.tables import GTIN, SUPPLIER_CODE
from ledger.access.scope import require_company
from ledger.imports.code_file import BadCodeRow, CodeRow, code_rows
from ledger.items.codes import (
    DescribeCode,
    DescribeGtin,
    DescribeSupplierCode,
    gtin14_or,
    name_codes,
    sku_text,
    taken_text,
)
from ledger.items.gtin import LENGTHS
from ledger.items.reference import added, changed
from ledger.kernel.bulk_insert import Moved, moved_columns
from ledger.kernel.errors import Conflict, ServiceError, refuse
from ledger.kernel.idempotency import run_command
from ledger.kernel.transactions import execute, fetch_all, fetch_column, log_action
from ledger.messages import Counted, Message


@dataclass(frozen=True, slots=True)
class ImportedCodes:
    """The numbers of added, changed and unchanged codes."""

    added: int
    changed: int
    unchanged: int


@dataclass(slots=True)
class CodePlan:
    """The effect of a file: codes to add, codes to change, and wrong rows.

    `changes` has one tuple per code to change: the class `DescribeGtin` or `DescribeSupplierCode`,
    the code, and the changed columns as {column: [before, after]}.
    """

    adds: list[DescribeCode] = field(default_factory=list)
    changes: list[tuple[type[DescribeCode], str, Moved]] = field(default_factory=list)
    unchanged: int = 0
    bad_rows: list[BadCodeRow] = field(default_factory=list)

    @property
    def counts(self) -> ImportedCodes:
        """The numbers that an import of this file would return."""
        return ImportedCodes(len(self.adds), len(self.changes), self.unchanged)


def check_codes(text: str) -> CodePlan:
    """Return the effect of a file without writing anything.

    Raise `ServiceError` for a text that is not a CSV file with the columns of `code_file`.
    """
    return _planned(text, lock="")


def import_codes(
    text: str, *, actor: str | None = None, command_id: UUID | None = None
) -> ImportedCodes:
    """Write the codes of a file; return the numbers of added, changed and unchanged codes.

    If a row is wrong, raise `ServiceError` and write nothing.
    """
    require_company()

    def work() -> ImportedCodes:
        plan = _planned(text, lock="FOR UPDATE")
        if plan.bad_rows:
            wrong = len(plan.bad_rows)
            refuse(
                "form",
                None,
                Counted(
                    "%(wrong)s row is wrong, and no row was saved",
                    "%(wrong)s rows are wrong, and no row was saved",
                    wrong,
                    wrong=f"{wrong:,}",
                ),
            )
        _write(plan, actor)
        return plan.counts

    digest = sha256(text.encode()).hexdigest()
    return run_command(command_id, "import_codes", actor, work, ImportedCodes, content=digest)


def report(
    counts: ImportedCodes, bad_rows: Sequence[BadCodeRow], *, is_written: bool
) -> dict[str, object]:
    """Return the result of an import of codes, or of its dry run, as plain values for JSON.

    The fields are `added`, `changed`, `unchanged`, `is_written`, and `bad_rows` with the line and
    the reason of each wrong row.
    """
    rows = [{"line": bad.line, "reason": bad.reason} for bad in bad_rows]
    return {**asdict(counts), "bad_rows": rows, "is_written": is_written and not rows}


def report_text(counts: ImportedCodes, bad_rows: Sequence[BadCodeRow], *, is_written: bool) -> str:
    """Return a text for people: the result of an import of codes, or of its dry run."""
    if bad_rows:
        listed = "".join(f"\n  line {bad.line}: {bad.reason}" for bad in bad_rows)
        rows = "row is" if len(bad_rows) == 1 else "rows are"
        return f"{len(bad_rows)} {rows} wrong; nothing was imported{listed}"
    done = "" if is_written else "; nothing was written, because this is a dry run"
    return f"{counts.added} added, {counts.changed} changed, {counts.unchanged} as before{done}"


def _write(plan: CodePlan, actor: str | None) -> None:
    if name_codes(plan.adds) != len(plan.adds):
        message = Message(
            "another person has added one of these codes meanwhile: check the rows again"
        )
        raise Conflict(message)
    for command in plan.adds:
        columns = asdict(command)
        del columns["code"]
        detail = {name: [None, value] for name, value in columns.items()}
        log_action(actor=actor, action=added(type(command)), subject=command.code, detail=detail)
    for kind, code, moved in plan.changes:
        assignments = ", ".join(f"{name} = %s" for name in moved)
        execute(
            f"UPDATE {kind.TABLE} SET {assignments} WHERE code = %s",  # noqa: S608 -- names of the contract and of the class
            *(after for _, after in moved.values()),
            code,
        )
        log_action(actor=actor, action=changed(kind), subject=code, detail=moved)


def _planned(text: str, *, lock: str) -> CodePlan:
    plan, rows, lines = CodePlan(), list[CodeRow](), dict[str, int]()
    given = list(code_rows(text))
    letters = _letters([row.command for row in given if isinstance(row, CodeRow)])
    for row in given:
        if isinstance(row, BadCodeRow):
            plan.bad_rows.append(row)
        elif (first := lines.setdefault(letters[row.command.code], row.line)) != row.line:
            rule = Message("line %(line)s has this code already", line=first)
            plan.bad_rows.append(_bad_row(row, rule))
        else:
            rows.append(row)
    known = _Known.of([row.command for row in rows], lock)
    for row in rows:
        _plan_row(plan, row, known, known.codes.get(letters[row.command.code]))
    plan.bad_rows.sort(key=lambda bad: bad.line)
    return plan


def _bad_row(row: CodeRow, rule: str) -> BadCodeRow:
    """Return a row that is valid by itself as a `BadCodeRow`, because it breaks `rule`.

    The text for people is only `rule`, without a field's name, because no single field is wrong.
    """
    return BadCodeRow(row.line, ServiceError("form", None, rule))


def _plan_row(
    plan: CodePlan, row: CodeRow, known: "_Known", before: Mapping[str, object] | None
) -> None:
    command = row.command
    if problem := known.problem_of(command, before):
        plan.bad_rows.append(_bad_row(row, problem))
    elif before is None:
        plan.adds.append(command)
    else:
        moved = moved_columns(before, _changeable(command))
        if moved:
            plan.changes.append((type(command), str(before["code"]), moved))
        plan.unchanged += not moved


def _changeable(command: DescribeCode) -> dict[str, object]:
    columns = asdict(command)
    return {name: columns[name] for name in ("pack_units", "is_active") if name in columns}


def _letters(commands: Sequence[DescribeCode]) -> dict[str, str]:
    """Return {code: the form in which this code is compared with others}.

    For this form, the number in a supplier's code is converted to upper case. A GTIN stays
    unchanged. Postgres converts the number, as it does for the unique index. Python would
    convert some letters differently, for example ß.
    """
    letters = {command.code: command.code for command in commands}
    numbers = [command for command in commands if isinstance(command, DescribeSupplierCode)]
    found = fetch_all(
        "SELECT supplier || '|' || number AS code, supplier || '|' || upper(number) AS letters"
        " FROM unnest(%s::text[], %s::text[]) AS given (supplier, number)",
        [command.supplier for command in numbers],
        [command.number for command in numbers],
    )
    return letters | {row["code"]: row["letters"] for row in found}


@dataclass(frozen=True, slots=True)
class _Known:
    """The existing rows that a file names.

    `codes` maps the form in which codes are compared (see `_letters`) to the columns of the
    existing code. `skus` and `suppliers` have the products and suppliers that exist.
    """

    codes: Mapping[str, Mapping[str, object]]
    skus: frozenset[str]
    suppliers: frozenset[str]

    @classmethod
    def of(cls, commands: Iterable[DescribeCode], lock: str) -> "_Known":
        """Read the existing rows that `commands` name, in four statements.

        `lock` is empty or `FOR UPDATE`.
        """
        gtins = [command.code for command in commands if isinstance(command, DescribeGtin)]
        numbers = [command for command in commands if not isinstance(command, DescribeGtin)]
        skus = [command.sku for command in commands]
        forms = [code[-length:] for code in gtins for length in LENGTHS]
        rows = chain(
            fetch_all(
                "SELECT code AS letters, code, sku, pack_units, is_active"  # noqa: S608 -- a name of the contract, and a literal of this module
                f" FROM {GTIN} WHERE code = ANY(%s) {lock}",
                gtins,
            ),
            fetch_all(
                "SELECT supplier || '|' || upper(number) AS letters, code, sku, is_active"  # noqa: S608 -- the same
                f" FROM {SUPPLIER_CODE} WHERE supplier = ANY(%s)"
                f" AND upper(number) = ANY(SELECT upper(n) FROM unnest(%s::text[]) AS n) {lock}",
                [command.supplier for command in numbers],
                [command.number for command in numbers],
            ),
        )
        found = "SELECT code FROM retail.product WHERE code = ANY(%s)"
        suppliers = "SELECT code FROM retail.supplier WHERE code = ANY(%s)"
        return cls(
            {row["letters"]: row for row in rows},
            frozenset(fetch_column(found, [*skus, *forms])),
            frozenset(fetch_column(suppliers, [command.supplier for command in numbers])),
        )

    def problem_of(self, command: DescribeCode, before: Mapping[str, object] | None) -> str:
        """Return the reason why a row can't be imported, or an empty text if it can."""
        if before is not None and before["sku"] != command.sku:
            return taken_text(command, str(before["sku"]), is_active=bool(before["is_active"]))
        if command.sku not in self.skus:
            return Message(
                "no product has the SKU %(sku)s: add the product first, or check the SKU",
                sku=command.sku,
            )
        if isinstance(command, DescribeGtin):
            forms = [command.code[-length:] for length in LENGTHS]
            others = {f for f in forms if gtin14_or(f) == command.code} & self.skus - {command.sku}
            return sku_text(min(others)) if others else ""
        if command.supplier not in self.suppliers:
            return Message(
                "no supplier has the code %(supplier)s: add the supplier first, or check the code",
                supplier=command.supplier,
            )
        return ""

"""Codes that a product has in addition to its SKU: GTINs, and article numbers of suppliers.

`retail.gtin` and `retail.supplier_code` have one row per code (decision 0057). Operators add and
change rows with `add_reference` and `change_reference`. A GTIN belongs to one product. A supplier's
code belongs to one product of this supplier.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar, Final

from cdc.contracts.tables import GTIN, SUPPLIER_CODE
from ledger.items.gtin import LENGTH, LENGTHS, gtin14, gtin_problem
from ledger.kernel import checks
from ledger.kernel.bulk_insert import insert_documents
from ledger.kernel.errors import refuse
from ledger.kernel.transactions import fetch_one, fetch_value, ledger_transaction
from ledger.messages import Message

LONGEST_NUMBER: Final = 64
MOST_PACK_UNITS: Final = 10_000


@dataclass(frozen=True, slots=True)
class DescribeGtin:
    """A GTIN of 14 digits. One scan counts `pack_units` units: more than 1 for an outer case."""

    TABLE: ClassVar = GTIN
    code: str
    sku: str
    pack_units: int = 1
    is_active: bool = True

    def check(self) -> None:
        """Raise `ServiceError` with the field that breaks a rule."""
        if problem := gtin_problem(self.code):
            refuse("code", self.code, problem)
        if len(self.code) != LENGTH:
            rule = Message(
                "%(digits)s digits, with zeros in front of a shorter code", digits=LENGTH
            )
            refuse("code", self.code, rule)
        if not_sku := checks.sku_problem(self.sku):
            refuse("sku", self.sku, not_sku)
        checks.integer("pack_units", self.pack_units, 1, MOST_PACK_UNITS)

    def require_rows(self) -> None:
        """Raise `ServiceError` if no product has `sku`, or if the GTIN is another product's SKU."""
        require_product(self.sku)
        forms = [self.code[-length:] for length in LENGTHS]
        sql = "SELECT min(code) FROM retail.product WHERE code = ANY(%s) AND code <> %s"
        other = fetch_value(sql, [form for form in forms if gtin14_or(form) == self.code], self.sku)
        if other:
            refuse("code", self.code, sku_text(other))


@dataclass(frozen=True, slots=True)
class DescribeSupplierCode:
    """The number of a product at a supplier, as the supplier's papers show it.

    `code` is the text `supplier|number`, for example `ACME|4711-B`.
    """

    TABLE: ClassVar = SUPPLIER_CODE
    code: str
    supplier: str
    number: str
    sku: str
    is_active: bool = True

    def check(self) -> None:
        """Raise `ServiceError` with the field that breaks a rule."""
        if "\x00" in checks.text("supplier", self.supplier):
            refuse(
                "supplier",
                self.supplier,
                "no such supplier: add the supplier first, or check the code",
            )
        checks.text("number", self.number, longest=LONGEST_NUMBER)
        if not self.number.isprintable() or self.number != self.number.strip(" "):
            refuse(
                "number", self.number, "printable characters, without a space at the start or end"
            )
        if self.code != supplier_code(self.supplier, self.number):
            refuse("code", self.code, "the supplier's code, | and the number, like ACME|4711-B")
        if problem := checks.sku_problem(self.sku):
            refuse("sku", self.sku, problem)

    def require_rows(self) -> None:
        """Raise `ServiceError` if no product has `sku`, or no supplier has the code `supplier`."""
        require_product(self.sku)
        sql = "SELECT EXISTS (SELECT FROM retail.supplier WHERE code = %s)"
        if not fetch_value(sql, self.supplier):
            refuse(
                "supplier",
                self.supplier,
                "no such supplier: add the supplier first, or check the code",
            )


DescribeCode = DescribeGtin | DescribeSupplierCode


def supplier_code(supplier: str, number: str) -> str:
    """Return the key of a supplier's code in `retail.supplier_code`: `supplier|number`."""
    return f"{supplier}|{number}"


def gtin14_or(text: str) -> str:
    """Return a GTIN as 14 digits, and any other text unchanged."""
    return text if gtin_problem(text) else gtin14(text)


def require_product(sku: str) -> None:
    """Raise `ServiceError` for an SKU that no product has."""
    if not fetch_value("SELECT EXISTS (SELECT FROM retail.product WHERE code = %s)", sku):
        refuse("sku", sku, "no such product: add the product first, or check its SKU")


def refuse_taken(command: DescribeCode) -> None:
    """Raise `ServiceError` if the code exists; the message names the code's product."""
    table = command.TABLE
    found = fetch_one(f"SELECT sku, is_active FROM {table} WHERE code = %s", command.code)  # noqa: S608 -- a name of the contract
    if found is None and isinstance(command, DescribeSupplierCode):
        # Two numbers that differ only in upper and lower case would be ambiguous, because a person
        # may type a number in either case.
        sql = (
            "SELECT sku, is_active FROM retail.supplier_code"
            " WHERE supplier = %s AND upper(number) = upper(%s)"
        )
        found = fetch_one(sql, command.supplier, command.number)
    if found is not None:
        field = "code" if isinstance(command, DescribeGtin) else "number"
        refuse(field, command.code, taken_text(command, found["sku"], is_active=found["is_active"]))


def taken_text(command: DescribeCode, sku: str, *, is_active: bool) -> str:
    """Return the reason for refusing a code that product `sku` has already, with the next step."""
    state = "" if is_active else Message(", deactivated")
    if sku == command.sku:
        return Message(
            "%(sku)s has this code already%(state)s: change that row", sku=sku, state=state
        )
    return Message(
        "this is a code of %(sku)s%(state)s: check the number, or change that row",
        sku=sku,
        state=state,
    )


def sku_text(sku: str) -> str:
    """Return the reason for refusing a GTIN: its digits are the SKU `sku` of another product."""
    return Message(
        "these digits are also the SKU %(sku)s, so a scan would find that item: check the number",
        sku=sku,
    )


def name_codes(commands: Sequence[DescribeCode]) -> int:
    """Add codes in bulk; return the number of new codes. Existing rows are kept.

    Seeds and imports call this function. It writes no audit entry.
    """
    for command in commands:
        command.check()
    added = 0
    with ledger_transaction():
        for table in (GTIN, SUPPLIER_CODE):
            rows = [asdict(command) for command in commands if table == command.TABLE]
            added += len(insert_documents(table.partition(".")[2], rows, unless="code"))
    return added

"""The product of a scanned or typed code: SKU, GTIN or number of a supplier.

A text is compared with known SKUs, then with GTINs and suppliers' numbers. For a supplier's number,
upper and lower case are the same. If nothing matches, the text in upper case is compared with known
SKUs. The GTIN may be part of a longer scan or of a link (`ledger.items.gtin`). There is no search
for similar codes: a code with a wrong digit finds no product.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ledger.items.gtin import LENGTHS, digits_in, gtin14, gtin_problem, shortest
from ledger.items.names import UNKNOWN, is_known
from ledger.kernel import checks
from ledger.kernel.errors import ServiceError, refuse
from ledger.kernel.rows import select
from ledger.messages import Message

LONGEST_SCAN: Final = 100


@dataclass(frozen=True, slots=True)
class CodeMatch:
    """A GTIN or a supplier's code, with its product; `supplier` is empty for a GTIN."""

    code: str
    supplier: str
    supplier_name: str
    sku: str
    name: str
    department: str
    pack_units: int
    is_active: bool

    @property
    def shown(self) -> str:
        """The code as the package or the supplier's paper shows it."""
        return self.code if self.supplier else shortest(self.code)


@dataclass(frozen=True, slots=True)
class Scanned:
    """The item that a code names, and the units of one scan: more than 1 for an outer case."""

    sku: str
    pack_units: int = 1


# The query of the page Find contains this statement too. `match_parameters` returns the parameters.
MATCHES_SQL: Final = """
SELECT g.code, '' AS supplier, '' AS supplier_name, g.sku, p.name, p.department,
       g.pack_units, g.is_active
FROM retail.gtin g JOIN retail.product p ON p.code = g.sku WHERE g.code = %(gtin)s
UNION ALL
SELECT n.number, n.supplier, s.name, n.sku, p.name, p.department, 1, n.is_active
FROM retail.supplier_code n JOIN retail.product p ON p.code = n.sku
JOIN retail.supplier s ON s.code = n.supplier WHERE upper(n.number) = upper(%(number)s)
"""


def gtin_in(text: str) -> str:
    """Return the GTIN in a text as 14 digits, or an empty text if there is none."""
    digits = digits_in(text)
    return "" if gtin_problem(digits) else gtin14(digits)


def matches(text: str) -> list[CodeMatch]:
    """Return the codes that equal `text`, inactive ones too.

    A GTIN comes first. The suppliers' codes follow, ordered by supplier and SKU.
    """
    sql = f"{MATCHES_SQL} ORDER BY supplier, sku"
    return select(sql, match_parameters(text), CodeMatch) if text.strip() else []


def match_parameters(text: str) -> dict[str, str]:
    """Return the parameters of `MATCHES_SQL` for a text."""
    text = text.strip()[:LONGEST_SCAN]
    return {"gtin": gtin_in(text), "number": text}


def active(found: Sequence[CodeMatch]) -> list[CodeMatch]:
    """Return the active GTINs in `found`; if there are none, the active codes of suppliers."""
    usable = [match for match in found if match.is_active]
    gtins = [match for match in usable if not match.supplier]
    return gtins or usable


def problem_of(text: str, found: Sequence[CodeMatch]) -> str:
    """Return the reason why a text finds no single item, with the next step.

    The caller has checked that the text is no known SKU.
    """
    skus = sorted({match.sku for match in active(found)})
    if len(skus) > 1:
        return Message(
            "a code that means different products at different suppliers (%(skus)s): type the SKU",
            skus=", ".join(skus),
        )
    if found and not skus:
        return Message(
            "a deactivated code of %(sku)s: scan another code of the item, or type its SKU",
            sku=found[0].sku,
        )
    digits = digits_in(text)
    problem = gtin_problem(digits)
    if problem and digits.isascii() and digits.isdigit() and len(digits) in LENGTHS:
        return Message("neither an SKU nor a GTIN: %(problem)s", problem=problem)
    return UNKNOWN


def scanned_item(location: str, text: str) -> Scanned:
    """Return the item of a text that a person scanned or typed at a location.

    Raise `ServiceError` for field `sku` if the text names no item, or several.
    """
    text = text.strip()
    not_sku = checks.sku_problem(text)
    if not not_sku and is_known(location, text):
        return Scanned(text)
    found = matches(text) if text.replace("\x1d", "").isprintable() else []
    usable = active(found)
    upper = text.upper()
    if not found and not not_sku and upper != text and is_known(location, upper):
        return Scanned(upper)
    if len({match.sku for match in usable}) != 1:
        problem = problem_of(text, found)
        refuse("sku", text, not_sku if not_sku and problem == UNKNOWN else problem)
    return Scanned(usable[0].sku, usable[0].pack_units)


def typed_sku(location: str, text: str) -> str:
    """Return the SKU of a code, for a form in which a person types a code and a number of units.

    If the text is no code, return it unchanged; the form's command refuses it if it is no SKU.
    Raise `ServiceError` with field `sku` for a code that is deactivated or ambiguous, has a wrong
    check digit, or belongs to an outer case.
    """
    try:
        item = scanned_item(location, text)
    except ServiceError as refused:
        if refused.rule in (UNKNOWN, checks.sku_problem(text)):
            return text
        raise
    if item.pack_units > 1:
        rule = Message(
            "the code of a case of %(units)s × %(sku)s: scan one unit, or type the SKU and the "
            "units",
            units=f"{item.pack_units:,}",
            sku=item.sku,
        )
        refuse("sku", text, rule)
    return item.sku


def skus_of(text: str) -> list[str]:
    """Return the SKUs that have the active code `text`; several if suppliers share a number."""
    return list(dict.fromkeys(match.sku for match in active(matches(text))))

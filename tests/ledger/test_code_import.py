"""Import of codes: a check lists every wrong row; an import writes all rows or none."""

import html
import json
import re
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from deploy.cli import trading
from deploy.cli.main import main
from ledger.imports.code_file import MOST_CHARACTERS, MOST_ROWS
from ledger.imports.code_import import ImportedCodes, check_codes, import_codes
from ledger.items.gtin import check_digit
from ledger.services import ServiceError
from tests.ledger.administered import audit, operator, text
from tests.ledger.coded import CASE, EAN, NUMBER, OLD, UNIT, coded
from tests.ledger.fingerprint import fingerprint

__all__ = ["coded"]
PAGE = "/codes/import"
FILE = f"""sku,code,supplier,units,active
LAMP,036000291452,,,
LAMP,10614141543219,,6,yes
MUG,{EAN},,1,
MUG,{CASE},,24,
LAMP,{OLD},,,1
LAMP,L-7,BOLT,,no

MUG,{NUMBER.lower()},ACME,,
"""


def test_a_code_import_writes_one_audit_entry_for_each_changed_code(
    coded: psycopg.Connection,
) -> None:
    before = fingerprint()
    plan = check_codes(FILE)
    assert (plan.bad_rows, plan.counts) == ([], ImportedCodes(3, 2, 2))
    assert fingerprint() == before

    done = import_codes(FILE, actor="olga")
    again = import_codes(FILE, actor="olga")

    assert done == plan.counts
    assert again == ImportedCodes(0, 0, 7)
    assert coded.execute("SELECT * FROM retail.gtin ORDER BY code").fetchall() == [
        (OLD, "LAMP", 1, True),
        ("00036000291452", "LAMP", 1, True),
        (UNIT, "MUG", 1, True),
        ("10614141543219", "LAMP", 6, True),
        (CASE, "MUG", 24, True),
    ]
    numbers = "SELECT code, sku, is_active FROM retail.supplier_code ORDER BY code"
    assert coded.execute(numbers).fetchall() == [
        (f"ACME|{NUMBER}", "MUG", True),
        ("BOLT|L-7", "LAMP", False),
    ]
    assert [(actor, action, subject) for actor, action, subject, _ in audit(coded)] == [
        ("olga", "add_gtin", "00036000291452"),
        ("olga", "add_gtin", "10614141543219"),
        ("olga", "add_supplier_code", "BOLT|L-7"),
        ("olga", "change_gtin", CASE),
        ("olga", "change_gtin", OLD),
    ]
    assert audit(coded)[3][3] == {"pack_units": [12, 24]}


WRONG = [
    ("MUG,4006381333932,,,", "Code: the last digit is 2, but the check digit of this number is 1"),
    ("MUG,40063813339,,,", "Code: a GTIN has 8, 12, 13 or 14 digits, not 11: compare"),
    ("MUG,ABC,,,", "Code: a GTIN has digits only"),
    ("MUG,<img src=x>,,,", "Code: a GTIN has digits only"),
    ("MUG,4.00638E+12,,,", "Code: a spreadsheet has rounded this number: format the column"),
    ("MUG,,,,", "Code: must not be empty"),
    (",96385074,,,", "SKU: an SKU has 1 to 32 characters"),
    ("CUP,036000291452,,,", "No product has the SKU CUP: add the product first"),
    (f"LAMP,{EAN},,,", "This is a code of MUG: check the number, or change that row."),
    (f"MUG,{OLD},,,", "This is a code of LAMP, deactivated: check the number"),
    (f"LAMP,{NUMBER},ACME,,", "This is a code of MUG: check the number"),
    ("MUG,M-1,NOBODY,,", "No supplier has the code NOBODY: add the supplier first"),
    ("MUG,M-1,ACME,6,", "Units: must be 1 for the code of a supplier: for a case, use its GTIN"),
    ("MUG,036000291452,,0,", "Units: a whole number from 1 to 10,000"),
    ("MUG,036000291452,,x,", "Units: a whole number from 1 to 10,000"),
    ("MUG,036000291452,,,maybe", "Active: yes or no; got “maybe”."),
    ("MUG,036000291452", "The row has 2 cells, but the first line names 5 columns."),
    ("MUG,10614141543219,,,\nMUG,10614141543219,,,", "Line 2 has this code already."),
]


def test_supplier_codes_are_matched_ignoring_case_as_postgres_does(
    coded: psycopg.Connection,
) -> None:
    """Python makes SS of ß. Postgres leaves ß, so its unique index allows both numbers."""
    content = "sku,code,supplier\nMUG,maß-1,ACME\nLAMP,mass-1,ACME\n"

    assert import_codes(content) == ImportedCodes(2, 0, 0)
    assert import_codes(content) == ImportedCodes(0, 0, 2)
    [other] = check_codes("sku,code,supplier\nLAMP,Maß-1,ACME\n").bad_rows
    assert other.reason.startswith("This is a code of MUG")


def test_a_supplier_with_a_zero_character_is_an_invalid_row(
    coded: psycopg.Connection,
) -> None:
    [bad] = check_codes("sku,code,supplier\nMUG,M-1,AC\0ME\n").bad_rows

    assert bad.line == 2
    assert bad.reason.startswith(
        "Supplier: no such supplier: add the supplier first, or check the code"
    )


def test_every_wrong_row_is_listed_at_once(coded: psycopg.Connection) -> None:
    rows = [row for row, _ in WRONG]
    content = "\n".join(["sku,code,supplier,units,active", *reversed(rows)])
    before = fingerprint()

    found = check_codes(content).bad_rows
    with pytest.raises(ServiceError, match="18 rows are wrong, and no row was saved"):
        import_codes(content)

    assert [bad.line for bad in found] == [3, *range(4, 21)]
    for bad, (_, start) in zip(found, reversed(WRONG), strict=True):
        assert bad.reason.startswith(start), bad
    assert fingerprint() == before


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        ("", "the first line must name the columns sku and code"),
        ("code\n1", "the first line must name the columns sku and code"),
        ("sku,code,price\n", "the first line must name the columns sku and code"),
        ("sku,code,code\n", "the first line must name the columns sku and code"),
        ('sku,code\nMUG,"1', "line 2 is no CSV"),
        ("sku,code\n" + "MUG,1\n" * (MOST_ROWS + 1), "at most 5,000 rows"),
        ("x" * (MOST_CHARACTERS + 1), "at most 500,000 characters"),
    ],
)
def test_an_invalid_import_file_is_refused_with_the_rule(
    coded: psycopg.Connection, content: str, rule: str
) -> None:
    with pytest.raises(ServiceError, match=re.escape(rule)):
        check_codes(content)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_spreadsheet_exports_with_any_common_delimiter_are_imported(
    coded: psycopg.Connection, delimiter: str
) -> None:
    content = "\ufeffCode,SKU\r\n036000291452,LAMP\r\n".replace(",", delimiter)

    assert import_codes(content) == ImportedCodes(1, 0, 0)


def test_the_largest_file_is_imported(coded: psycopg.Connection) -> None:
    bodies = [f"{2_000_000_000_000 + n}" for n in range(MOST_ROWS)]
    content = "sku,code\n" + "".join(f"MUG,{body}{check_digit(body)}\n" for body in bodies)

    assert import_codes(content) == ImportedCodes(MOST_ROWS, 0, 0)


def posted(client: Any, action: str, **given: Any) -> Any:
    return client.post(PAGE, {"action": action, "command_id": str(uuid4()), **given})


def test_the_page_checks_rows_and_imports_the_rows_it_showed(coded: psycopg.Connection) -> None:
    client = operator()
    before = fingerprint()

    checked = posted(client, "check", rows=FILE)
    page = checked.content.decode()
    shown = html.unescape(re.findall(r"<textarea[^>]*>([^<]*)</textarea>", page)[0])
    assert "An import adds 3 codes, changes 2 and leaves 2 as before. Nothing was saved" in page
    assert fingerprint() == before
    form = {"rows": shown, "command_id": str(uuid4()), "action": "import"}
    answers = [client.post(PAGE, form) for _ in range(2)]  # as by a double click

    assert [(answer.status_code, answer["Location"]) for answer in answers] == [(302, PAGE)] * 2
    assert "3 codes added, 2 changed, 2 as before." in text(client.get(PAGE))
    assert len(audit(coded)) == 5


def test_the_page_shows_all_wrong_rows_as_text_and_keeps_the_input(
    coded: psycopg.Connection,
) -> None:
    client = operator()
    rows = "\n".join(["sku,code,supplier,units,active", *(row for row, _ in WRONG[:5])])
    before = fingerprint()

    answers = [posted(client, action, rows=rows) for action in ("check", "import")]

    for answer in answers:
        page = answer.content.decode()
        assert answer.status_code == 422
        assert "be imported. Nothing was saved. Correct them" in page
        assert page.count("<li><b>Line ") == 5
        assert "<img" not in page
        assert html.escape(rows) in page
        assert 'value="import"' not in page
    assert fingerprint() == before


def test_the_lists_of_codes_lead_to_the_import(coded: psycopg.Connection) -> None:
    client = operator()

    for table in ("gtin", "suppliercode"):
        assert f'href="{PAGE}">Import CSV' in text(client.get(f"/admin/ledger/{table}/"))
    assert "Import CSV" not in text(client.get("/admin/ledger/product/"))


def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *options: str
) -> tuple[int, str]:
    monkeypatch.setattr(trading, "connect_django", lambda: None)  # the fixture has connected
    monkeypatch.setattr(sys, "argv", ["inventory", "import-codes", *options])
    try:
        main()
        code = 0
    except SystemExit as ended:
        code = int(ended.code or 0)
    told = capsys.readouterr()
    return code, told.out + told.err


def test_the_command_checks_and_imports_a_file(
    coded: psycopg.Connection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "codes.csv"
    file.write_text(f"\ufeff{FILE}", encoding="utf-8")
    before = fingerprint()

    code, told = run(monkeypatch, capsys, str(file), "--dry-run")
    assert (code, told.split(";")[0]) == (0, "3 added, 2 changed, 2 as before")
    assert fingerprint() == before
    code, told = run(monkeypatch, capsys, str(file), "--json")
    assert (code, json.loads(told)) == (
        0,
        {"added": 3, "changed": 2, "unchanged": 2, "bad_rows": [], "is_written": True},
    )


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"sku,code\nCUP,96385074\nMUG,1\n", "2 rows are wrong; nothing was imported"),
        (b"sku\n", "Nothing was imported"),
        ("sku,code\nM\u00dcG,1".encode("cp1252"), "text in UTF-8"),
    ],
)
def test_the_command_refuses_a_wrong_file(
    coded: psycopg.Connection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    content: bytes,
    told: str,
) -> None:
    (tmp_path / "codes.csv").write_bytes(content)
    before = fingerprint()

    code, said = run(monkeypatch, capsys, str(tmp_path / "codes.csv"))

    assert code == 1
    assert told in re.sub(r"\s+", " ", said)
    assert fingerprint() == before

import gzip
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ledger.imports import importer
from ledger.imports.importer import Imported, Stores, import_sales
from ledger.imports.retail_file import BadRow, Line, open_retail_file
from ledger.services import ServiceError

HEADER = "InvoiceNo,StockCode,Description,Quantity,InvoiceDate,UnitPrice,CustomerID,Country"
AT = datetime(2010, 12, 1, 8, 26, tzinfo=UTC)
FILE_VARIABLE = "INVENTORY_TEST_RETAIL_FILE"


def row(**changes: str) -> str:
    fields = {
        "invoice": "536365",
        "sku": "85123A",
        "description": "LANTERN",
        "quantity": "6",
        "date": "2010-12-01 08:26:00",
        "price": "2.55",
        "customer": "17850.0",
        "country": "United Kingdom",
    }
    return ",".join((fields | changes).values())


def written(tmp_path: Path, *rows: str, header: str = HEADER) -> Path:
    path = tmp_path / "sales.csv"
    path.write_text("\n".join((header, *rows)) + "\n", encoding="utf-8")
    return path


def only(tmp_path: Path, text: str, stores: str = "single") -> Line | BadRow:
    (found,) = open_retail_file(written(tmp_path, text)).rows(stores)
    return found


def test_a_row_is_a_line_with_an_exact_amount(tmp_path: Path) -> None:
    assert only(tmp_path, row()) == Line(1, "UCI", "85123A", 6, 1530, AT, "LANTERN")


@pytest.mark.parametrize(
    ("quantity", "price", "amount"),
    [
        ("1", "0.005", 0),
        ("1", "0.015", 2),
        ("3", "0.005", 2),
        ("5", "0.005", 2),
        ("-1", "0.015", -2),
        ("-5", "0.005", -2),
        ("1", "-11062.06", -1_106_206),
        ("1", "0", 0),
        ("2", ".5", 100),
        ("+2", "7.", 1400),
        ("80995", "2.08", 16_846_960),
    ],
)
def test_an_amount_is_rounded_half_even_from_the_decimals(
    tmp_path: Path, quantity: str, price: str, amount: int
) -> None:
    found = only(tmp_path, row(quantity=quantity, price=price))

    assert isinstance(found, Line)
    assert found.amount_minor == amount


@pytest.mark.parametrize(
    "text",
    [
        "2010-12-01 08:26:00",
        "2010-12-01 08:26",
        "2010-12-01T08:26:00",
        "12/1/2010 8:26",
        "12/01/2010 08:26:00",
    ],
)
def test_both_layouts_of_a_time_are_read_as_utc(tmp_path: Path, text: str) -> None:
    found = only(tmp_path, row(date=text))

    assert isinstance(found, Line)
    assert found.occurred_at == AT


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"quantity": "0"}, "Quantity: not 0"),
        ({"quantity": "1000001"}, "Quantity: not 0, from -"),
        ({"quantity": "1.5"}, "Quantity: a whole number"),
        ({"quantity": "six"}, "Quantity: a whole number"),
        ({"quantity": ""}, "Quantity: a whole number"),
        ({"quantity": "1_0"}, "Quantity: a whole number"),
        ({"quantity": "\u0661"}, "Quantity: a whole number"),
        ({"price": ""}, "UnitPrice: a decimal number"),
        ({"price": "."}, "UnitPrice: a decimal number"),
        ({"price": "NaN"}, "UnitPrice: a decimal number"),
        ({"price": "1e3"}, "UnitPrice: a decimal number"),
        ({"price": "2;55"}, "UnitPrice: a decimal number"),
        ({"quantity": "1000000", "price": "1000.01"}, "at most 100000000000 minor units"),
        ({"date": "1999-12-31 23:59:59"}, "InvoiceDate"),
        ({"date": "2010-13-01 08:26:00"}, "InvoiceDate"),
        ({"date": "yesterday"}, "InvoiceDate"),
        ({"sku": ""}, "StockCode: an SKU has 1 to 32"),
        ({"sku": "a|b"}, "StockCode: an SKU has printable characters only, and no |"),
        ({"sku": " a"}, "StockCode: an SKU has no space"),
        ({"sku": "x" * 33}, "StockCode: an SKU has 1 to 32"),
    ],
)
def test_a_forbidden_row_is_listed_with_line_and_reason(
    tmp_path: Path, changes: dict[str, str], reason: str
) -> None:
    found = only(tmp_path, row(**changes))

    assert isinstance(found, BadRow)
    assert found.line == 2
    assert reason in found.reason


def test_a_row_with_a_missing_column_is_listed(tmp_path: Path) -> None:
    found = only(tmp_path, row().rpartition(",")[0])

    assert found == BadRow(2, "missing column: 8 fields expected, got 7")


def test_a_country_becomes_a_location(tmp_path: Path) -> None:
    found = only(tmp_path, row(), "country")

    assert isinstance(found, Line)
    assert found.location == "UNITED-KINGDOM"


@pytest.mark.parametrize("country", ["", "C\u00f4te", "A" * 25])
def test_a_country_that_is_no_location_is_listed(tmp_path: Path, country: str) -> None:
    found = only(tmp_path, row(country=country), "country")

    assert isinstance(found, BadRow)
    assert "Country: a location is" in found.reason


def test_a_file_without_a_needed_column_is_refused_by_name(tmp_path: Path) -> None:
    path = written(tmp_path, row(), header=HEADER.replace("UnitPrice", "Cost"))

    with pytest.raises(ServiceError, match="UnitPrice"):
        list(open_retail_file(path).rows("single"))


def test_a_single_store_needs_no_country(tmp_path: Path) -> None:
    path = written(tmp_path, row().rpartition(",")[0], header=HEADER.rpartition(",")[0])

    (found,) = open_retail_file(path).rows("single")
    assert isinstance(found, Line)


def test_a_gzip_copy_is_the_same_source(tmp_path: Path) -> None:
    path = written(tmp_path, row())
    packed = tmp_path / "sales.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))

    plain, unpacked = open_retail_file(path), open_retail_file(packed)

    assert plain.digest == unpacked.digest
    assert list(plain.rows("single")) == list(unpacked.rows("single"))


def test_a_damaged_gzip_copy_is_refused(tmp_path: Path) -> None:
    packed = tmp_path / "sales.csv.gz"
    content = bytearray(gzip.compress("\n".join((HEADER, *(row() for _ in range(99)))).encode()))
    content[20:40] = bytes(20)
    packed.write_bytes(content)

    with pytest.raises(ServiceError, match="a readable"):
        open_retail_file(packed)


def test_a_first_line_that_is_not_csv_is_refused_with_the_missing_columns(tmp_path: Path) -> None:
    path = tmp_path / "sales.csv"
    path.write_text("x" * 200_000, encoding="utf-8")

    with pytest.raises(ServiceError, match="must name the columns StockCode, Quantity"):
        list(open_retail_file(path).rows("single"))


def test_a_wrong_header_line_is_quoted_in_the_refusal(tmp_path: Path) -> None:
    path = written(tmp_path, row(), header="Invoice,Item")

    with pytest.raises(ServiceError, match=r"must name the columns .*, got 'Invoice,Item'"):
        list(open_retail_file(path).rows("single"))


@pytest.mark.parametrize(
    "header",
    [
        "StockCode,Quantity,InvoiceDate,UnitPrice,quantity",
        "StockCode,Quantity,InvoiceDate,UnitPrice,Price,Quantity ",
    ],
)
def test_a_column_that_is_named_twice_is_refused(tmp_path: Path, header: str) -> None:
    path = tmp_path / "twice.csv"
    path.write_text(header + "\n")

    with pytest.raises(ServiceError, match=r"must not repeat the columns (Quantity|.*Price)"):
        list(open_retail_file(path).rows("single"))


def test_a_file_in_utf_16_is_refused_with_the_conversion(tmp_path: Path) -> None:
    path = tmp_path / "sales.csv"
    path.write_bytes("\n".join((HEADER, row())).encode("utf-16"))

    with pytest.raises(ServiceError, match="iconv -f UTF-16 -t UTF-8"):
        open_retail_file(path)


def test_an_unclosed_quote_is_reported_with_the_lines_that_it_spans(tmp_path: Path) -> None:
    opened = row().replace(",", ',"', 1)
    path = written(tmp_path, row(), opened, row(), row())

    _, found = open_retail_file(path).rows("single")

    assert isinstance(found, BadRow)
    assert "in the lines 3 to 5: is a quote of line 3 not closed?" in found.reason
    assert found.rule == "missing column: 8 fields expected"


def test_a_file_in_cp1252_is_read(tmp_path: Path) -> None:
    path = tmp_path / "sales.csv"
    text = "\n".join((HEADER, row(description="CAF\u00c9"), ""))
    path.write_bytes(text.encode("cp1252"))

    (found,) = open_retail_file(path).rows("single")
    assert isinstance(found, Line)
    assert found.description == "CAF\u00c9"


def test_a_quoted_line_break_does_not_shift_the_row_numbers(tmp_path: Path) -> None:
    path = written(tmp_path, row(description='"TWO\nLINES"'), row(quantity="0"), "", row())

    found = list(open_retail_file(path).rows("single"))
    assert [getattr(line, "row", None) for line in found] == [1, None, 3]
    assert isinstance(found[1], BadRow)
    assert found[1].line == 4


def test_bad_rows_do_not_stop_the_others(ledger: psycopg.Connection, tmp_path: Path) -> None:
    path = written(tmp_path, row(), row(quantity="0"), row(quantity="-2"), row(sku=""))

    report = import_sales(path)

    assert (report.rows, report.inserted, report.refused, report.keys) == (4, 2, 2, 1)
    assert [bad.line for bad in report.bad_rows] == [3, 5]
    assert (report.units_sold, report.units_returned, report.revenue_minor) == (6, 2, 1020)
    assert "line 3: Quantity" in str(report)
    found = ledger.execute(
        "SELECT inv_key, source, source_ref, quantity_units, amount_minor, occurred_at"
        " FROM retail.sale_line ORDER BY id"
    ).fetchall()
    assert found == [
        ("UCI|85123A", report.source, "1", 6, 1530, AT),
        ("UCI|85123A", report.source, "3", -2, -510, AT),
    ]


def test_refused_rows_are_counted_by_rule_and_a_shortened_list_says_how_many_more(
    ledger: psycopg.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importer, "LISTED_BAD_ROWS", 1)
    path = written(tmp_path, row(price="x"), row(), row(quantity="a"), row(quantity="c"))

    report = import_sales(path)
    plain = report.as_json()

    by_reason = {"Quantity: a whole number": 2, "UnitPrice: a decimal number": 1}
    assert (plain["refused"], plain["bad_rows_listed"]) == (3, 1)
    assert plain["refused_by_reason"] == by_reason
    assert len(json.loads(json.dumps(plain))["bad_rows"]) == 1
    assert str(report).splitlines()[1:] == [
        "  2 refused: Quantity: a whole number",
        "  1 refused: UnitPrice: a decimal number",
        "  line 2: UnitPrice: a decimal number, got 'x'",
        "  and 2 more",
        (
            "next: import the corrected rows as a file of their own;"
            " a corrected copy of the whole file would count the other rows twice"
        ),
    ]


def test_an_import_ranges_items_with_a_replayed_clock_and_no_count(
    ledger: psycopg.Connection, tmp_path: Path
) -> None:
    import_sales(written(tmp_path, row(), row(sku="T")), stores="country")

    assert ledger.execute(
        "SELECT inv_key, clock_mode, replenish_family, price_mode FROM retail.item_location"
        " ORDER BY id"
    ).fetchall() == [
        ("UNITED-KINGDOM|85123A", "replayed", "off", "off"),
        ("UNITED-KINGDOM|T", "replayed", "off", "off"),
    ]
    assert ledger.execute("SELECT count(*) FROM retail.stock_count").fetchone() == (0,)


def test_a_second_import_writes_the_lines_missing_from_the_first(
    ledger: psycopg.Connection, tmp_path: Path
) -> None:
    path = written(tmp_path, *(row(quantity=str(n)) for n in range(1, 8)))

    first = import_sales(path, limit=3)
    second = import_sales(path)

    assert (first.inserted, second.inserted, second.already_there) == (3, 4, 3)
    quantities = ledger.execute("SELECT quantity_units FROM retail.sale_line ORDER BY id")
    assert quantities.fetchall() == [(n,) for n in range(1, 8)]


def test_lines_imported_earlier_at_another_location_range_no_item(
    ledger: psycopg.Connection, tmp_path: Path
) -> None:
    path = written(tmp_path, row(), row(sku="T", country="France"))
    import_sales(path, limit=1)

    again = import_sales(path, stores="country")

    assert (again.inserted, again.already_there, again.keys, again.keys_ranged) == (1, 1, 2, 1)
    tables = "retail.sale_line", "retail.item_location"
    keys = [ledger.execute(f"SELECT inv_key FROM {name} ORDER BY id").fetchall() for name in tables]  # noqa: S608 -- names from above
    assert keys == [[("UCI|85123A",), ("FRANCE|T",)]] * 2
    locations = ledger.execute("SELECT code FROM retail.location ORDER BY code").fetchall()
    assert locations == [("FRANCE",), ("UCI",)]
    assert str(again).splitlines()[1:] == [
        (
            "  an earlier import with --stores single wrote 1 line at other locations,"
            " for example row 1 at UCI and not at UNITED-KINGDOM."
            " A line is written once, so this import left them there"
        ),
        (
            "next: use --stores single for this file;"
            " for --stores country, import it into a new, empty database"
        ),
    ]
    plain = json.loads(json.dumps(again.as_json()))
    moved = {"row": 1, "recorded_at": "UCI", "wanted_at": "UNITED-KINGDOM"}
    assert (plain["elsewhere"], plain["first_elsewhere"]) == (1, moved)
    assert "at another location" not in str(import_sales(path, limit=1))


def test_ranging_many_items_reports_progress(
    ledger: psycopg.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importer, "REPORT_EVERY_S", 0)
    monkeypatch.setattr(importer, "RANGE_ROWS", 2)
    told: list[Imported] = []
    rows = [row(sku=f"T{number}") for number in range(5)]

    import_sales(written(tmp_path, *rows), progress=told.append)

    items = [(done.what, done.done, done.of) for done in told if done.what == "items"]
    assert items == [("items", 2, 5), ("items", 4, 5), ("items", 5, 5)]


def test_an_import_limits_its_rate_and_reports(ledger: psycopg.Connection, tmp_path: Path) -> None:
    told: list[str] = []
    path = written(tmp_path, *(row() for _ in range(60)))

    report = import_sales(path, rate=40.0, progress=lambda done: told.append(str(done)))

    assert report.inserted == 60
    assert report.seconds >= 1
    assert told[-1].endswith("of 60 lines")


@pytest.mark.parametrize("wrong", [{"stores": "many"}, {"rate": 0}, {"rate": -1.0}, {"limit": -1}])
def test_a_wrong_argument_is_named(tmp_path: Path, wrong: dict[str, Any]) -> None:
    (name,) = wrong

    with pytest.raises(ServiceError, match=name):
        import_sales(written(tmp_path, row()), **wrong)


@pytest.mark.dataset
@pytest.mark.skipif(FILE_VARIABLE not in os.environ, reason=f"{FILE_VARIABLE} names no file")
@pytest.mark.parametrize(("stores", "keys"), [("single", 4070), ("country", 19_839)])
def test_the_real_file_imports_with_the_expected_totals(
    ledger: psycopg.Connection, stores: Stores, keys: int
) -> None:
    report = import_sales(os.environ[FILE_VARIABLE], stores=stores)

    assert (report.inserted, report.refused, report.keys) == (541_909, 0, keys)
    found = ledger.execute(
        "SELECT count(*), sum(quantity_units)::bigint, sum(amount_minor)::bigint,"
        " count(DISTINCT inv_key) FROM retail.sale_line"
    ).fetchone()
    assert found == (541_909, 5_176_450, 974_774_793, keys)

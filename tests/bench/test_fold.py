"""The bench of the fold writes a valid log and measures it correctly."""

from pathlib import Path

import pytest

from bench.errors import BenchFailed
from bench.fold import Retailers, SalesFile, run
from bench.fold_log import file_events
from bench.fold_retailer import Retailer
from cdc.contracts.decode import decode
from inventory.fold.partition import Partition

LINES = """InvoiceNo,StockCode,Description,Quantity,InvoiceDate,UnitPrice,CustomerID,Country
1,85123A,HOLDER,6,2010-12-01 08:26:00,2.55,1,United Kingdom
1,71053,LANTERN,-2,2010-12-01 08:26:00,3.39,1,United Kingdom
1,71053,LANTERN,4,2010-12-03 09:00:00,3.39,1,United Kingdom
"""


def verdicts(events) -> set[str]:
    partition = Partition(1)
    return {
        partition.apply(decode(event.key, event.value, offset=offset)).verdict
        for offset, event in enumerate(events)
    }


def test_a_generated_retailer_has_no_rejected_records_and_has_outputs() -> None:
    report = run(file=None, retailers=Retailers((40, 80), rounds=12))

    assert [case.keys for case in report.cases] == [40, 80]
    assert [case.rejected for case in report.cases] == [0, 0]
    assert all(case.outputs > 0 for case in report.cases)
    assert report.growth is not None


def test_the_same_seed_makes_the_same_log() -> None:
    first, second = Retailer(20, 7), Retailer(20, 7)

    assert [*first.opening(), *first.trading(3)] == [*second.opening(), *second.trading(3)]


def test_a_sales_file_becomes_ranged_keys_and_sale_lines(tmp_path: Path) -> None:
    path = tmp_path / "retail.csv"
    path.write_text(LINES, encoding="utf-8")

    assert verdicts(file_events(path, "single", None)) == {"applied"}
    report = run(file=SalesFile(path), retailers=Retailers(()))
    (case,) = report.cases
    assert (case.keys, case.records, case.rejected) == (2, 5, 0)
    assert report.growth is None
    assert report.as_json()["cases"][0]["records_per_s"] > 0
    assert "file" in report.as_text()


def test_a_file_without_a_valid_line_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "retail.csv"
    path.write_text(LINES.splitlines(keepends=True)[0], encoding="utf-8")

    with pytest.raises(BenchFailed, match=r"retail\.csv has no valid sale line"):
        run(file=SalesFile(path), retailers=Retailers(()))

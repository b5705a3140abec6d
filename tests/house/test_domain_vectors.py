"""docs/domain.md and tests/data/domain_vectors.toml have equal tables, cell by cell.

Cells of numbers are compared as lists. Cells of prose must contain no number that the data of their
row lack.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.house.domain_page import plain, table, text
from tests.vectors import VECTORS

Row = dict[str, Any]
SCALES = (1, 10, 100, 1_000_000)


def numbers(cell: str) -> list[int]:
    """Return the integers of a cell. Thousands have commas, minus signs are typographic."""
    found = re.findall(r"(?<![\w.])−?\d[\d,]*", plain(cell))
    return [int(one.replace("−", "-").replace(",", "")) for one in found]


def values(data: object) -> Iterator[int]:
    """Yield all integers of the data, including those inside texts."""
    match data:
        case bool():
            return
        case int():
            yield data
        case str():
            yield from numbers(data.replace("-", "−"))
            yield from (int(part) for part in re.findall(r"\d+", data))
        case dict():
            for item in data.values():
                yield from values(item)
        case list():
            for item in data:
                yield from values(item)
        case _:
            return


def assert_said(cell: str, data: object) -> None:
    """Assert that the data contain each number of the prose, unchanged or in a smaller unit."""
    known = set(values(data))
    prose = re.sub(r"\b[A-Z]\d+(?=[ ;])|\([^()]*\)|\b\w+_\w+\b", "", plain(cell) + " ")
    for said in re.findall(r"−?\d[\d,]*(?:\.\d+)?", prose):
        exact = said.replace("−", "-").replace(",", "")
        whole, _, fraction = exact.partition(".")
        scaled = [int(whole + fraction) * scale // 10 ** len(fraction) for scale in SCALES]
        assert known & set(scaled), f"{said} of {cell!r} is not in {data}"


def fitted(cell: str, size: int, *, missing: str = "–") -> list[int | None]:
    """Return the values of a cell. A single value is repeated for each of `size` vectors."""
    parts = [part.strip() for part in plain(cell).split(";")]
    found = [None if part == missing else numbers(part)[0] for part in parts]
    return found * size if len(found) == 1 else found


def groups(name: str, data: list[Row]) -> Iterator[tuple[tuple[str, ...], list[Row]]]:
    """Yield each row of a table with the data of the vectors that its first cell names."""
    by_id = {row["id"]: row for row in data}
    seen: list[str] = []
    for cells in table(name).rows:
        ids = re.findall(r"\b[QVP]\d+\b", cells[0])
        seen += ids
        yield cells, [by_id[one] for one in ids]
    assert seen == list(by_id), f"{name}: the page and the data name different vectors"


def test_division_table_of_the_domain_page_equals_the_vectors() -> None:
    found = table("0 divisions")
    name = ""
    for heading, cell, vector in zip(
        found.heading, found.rows[0], VECTORS["division"], strict=True
    ):
        name = heading.partition("(")[0] or name
        assert (name, numbers(heading.replace("(", " ").replace(",", " "))) == (
            vector["call"],
            vector["arguments"],
        )
        assert numbers(cell) == [vector["result"]]


def test_count_rule_table_of_the_domain_page_equals_the_vectors() -> None:
    for cells, row in zip(table("2.4 count rule").rows, VECTORS["count_rule"], strict=True):
        place, prose, on_hand, movements, variances = cells
        assert place == row["row"]
        assert_said(re.sub(r"row \d+|id \d+|five days", "", prose), row)
        assert numbers(on_hand) == row["on_hand"]
        assert numbers(movements)[-len(row["movements"]) :] == row["movements"]
        assert_variances(variances, row)


def assert_variances(cell: str, row: Row) -> None:
    """Assert that the cell shows the row's verdict, its totals, or its last variances."""
    if "verdict" in row:
        assert cell == row["verdict"]
    elif "total_variances" in row:
        signed = [int(one) for one in re.findall(r"\+\d+", cell)]
        assert signed == row["total_variances"]
    else:
        shown = cell.removeprefix("… ").split(", ")
        assert shown == row["variances"][-len(shown) :]


def test_effects_table_of_the_domain_page_equals_the_vectors() -> None:
    rows = VECTORS["effects"]
    assert numbers(table("2.4 effects").heading[0])[-2:] == [5, 2]
    for cells, row in zip(table("2.4 effects").rows, rows[1:], strict=True):
        assert_said(cells[0], row)
        columns = ("on_hand", "unavailable", "on_order", "in_transit", "position")
        for cell, column in zip(cells[1:], columns, strict=True):
            found = fitted(cell, len(row[column]))
            # If the cell has fewer values than the data, it has the last ones.
            assert found == row[column][-len(found) :], (cells[0], column)


def test_windows_table_of_the_domain_page_equals_the_vectors() -> None:
    for cells, row in zip(table("3.2 windows").rows, VECTORS["windows"], strict=True):
        place, prose, committed, ten, others, on_hand = cells
        assert place == row["row"]
        assert_said(re.sub(r"(then )?row \d+|10:00 is", "", prose), row)
        clocks = re.findall(r"\d\d:\d\d(?::[\d.]+)?", committed)
        assert clocks == [fact["commit"] for fact in row["facts"]][: len(clocks)]
        if "late" in row:
            late = [one for pair in row["late"] for one in pair]
            assert numbers((ten + others).replace("+", " ")) == late
        else:
            assert [part.strip() for part in ten.split(";")] == row["ten"]
            for clock, (sold, returned, revenue) in row.get("others", {}).items():
                assert others.startswith(clock)
                assert str(returned or sold) in others
                assert "revenue" not in others or others.endswith(f"revenue {revenue}")
        assert numbers(on_hand) == row["on_hand"]


def test_demand_table_of_the_domain_page_equals_the_vectors() -> None:
    found, table_data = table("3.3 demand"), VECTORS["demand"]["ewma"]
    pairs = [numbers(cell.replace(",", " ")) for cell in found.heading[1:]]
    assert pairs == [list(pair) for pair in zip(table_data["sold"], table_data["out"], strict=True)]
    obs, rates, sigmas = found.rows
    assert [cell if "not" in cell else numbers(cell)[0] for cell in obs[1:]] == table_data["obs"]
    last: list[int] = []
    for cell, rate, mad in zip(rates[1:], table_data["rate"], table_data["mad"], strict=True):
        last = numbers(cell) or last
        assert last == [rate, mad]
    shown = [numbers(cell) for cell in sigmas[1:]]
    assert shown == [
        list(pair) for pair in zip(table_data["sigma"], table_data["quiet"], strict=True)
    ]


def test_tsb_example_of_the_domain_page_equals_the_vectors() -> None:
    said = re.search(
        r"Check with N = (\d+), sold (.+?): rate (.+?)\s+\(p (.+?); z (.+?)\)", text(), re.DOTALL
    )
    assert said is not None
    tsb = VECTORS["demand"]["tsb"]
    assert numbers(said[1]) == [tsb["trading_windows"]]
    assert numbers(said[2].replace(",", " ")) == tsb["sold"]
    assert numbers(said[3]) == tsb["rate"]
    assert [numbers(said[4]), numbers(said[5])] == [[tsb["p"]], [tsb["z"]]]


def test_service_levels_and_eoq_of_the_domain_page_equal_the_vectors() -> None:
    said = dict(re.findall(r"([\d.]+) %\s+([\d,]{7,})", text()))
    z_micro = {level: int(shown.replace(",", "")) for level, shown in said.items()}
    assert z_micro == VECTORS["service_z_micro"]
    eoq = re.search(r"Q = (\d+) for D = ([\d,]+), K = (\d+) and h = (\d+) minor units", text())
    assert eoq is not None
    lot, *given = (numbers(found)[0] for found in eoq.groups())
    assert [*given, lot] == list(VECTORS["eoq"].values())


def test_levels_table_of_the_domain_page_equals_the_vectors() -> None:
    for cells, rows in groups("5.1 levels", VECTORS["levels"]):
        label, prose, *results = cells
        assert_said(label.replace("`", ""), [rows, VECTORS["service_z_micro"]])
        assert_said(prose, rows)
        for cell, column in zip(results, ("SS", "s", "S"), strict=True):
            assert fitted(cell, len(rows)) == [row.get(column) for row in rows], label


def test_quantity_table_of_the_domain_page_equals_the_vectors() -> None:
    for cells, rows in groups("5.2 quantity", VECTORS["quantity"]):
        label, base, reorder_point, target, pack, need, quantity = cells
        assert_said(label, rows)
        assert_said(pack, rows)
        for row, one in zip(rows, (pack.split(";") * len(rows))[: len(rows)], strict=True):
            assert row["columns"]["pack_rounding"] == one.split()[-1]
        shown = (
            (base, "B"),
            (reorder_point, "s"),
            (target.replace("Q ", ""), "target"),
            (need, "n"),
        )
        for cell, column in shown:
            assert fitted(cell, len(rows)) == [row[column] for row in rows], label
        assert fitted(quantity, len(rows), missing="none") == [row.get("q") for row in rows], label
        flagged = ["flagged" in part for part in quantity.split(";")] * len(rows)
        assert flagged[: len(rows)] == ["flags" in row for row in rows]


def test_episode_table_of_the_domain_page_equals_the_vectors() -> None:
    found = table("5.3 episode")
    shared = VECTORS["episode_policy"]
    names = ("reorder_point_units", "order_up_to_units", "pack_units", "hysteresis_units")
    assert numbers(found.heading[0]) == [shared[name] for name in names]
    for cells, row in zip(found.rows, VECTORS["episode"], strict=True):
        prose, base, states, outputs = cells
        assert_said(prose, [row, shared, 0, 2, 11])
        assert numbers(base) == row["B"]
        shown = [part.strip() for part in states.split(";")]
        shown = [row["states"][0] if part == "same" else part for part in shown]
        assert (shown * len(row["B"]))[: len(row["B"])] == row["states"]
        said = [re.sub(r" \([^()]*\)", "", plain(part)) for part in outputs.split("; ")]
        assert said == row["outputs"]


PRICED = ("price", "floor", "effective_at", "prior", "cover")


def test_price_table_of_the_domain_page_equals_the_vectors() -> None:
    shared = VECTORS["price_policy"]
    assert_said(table("6.2 price").heading[1], shared)
    data = [row for name in PRICED for row in VECTORS[name]]
    for cells, rows in groups("6.2 price", data):
        label, prose, price, clamps = cells
        assert_said(prose, [rows, shared, VECTORS["prior_rows"], 2025, 2026])
        if "signal" in rows[0]:
            assert fitted(price, len(rows), missing="suppressed") == [
                row.get("price") for row in rows
            ], label
            assert clamps_of(clamps, len(rows)) == [
                row.get("reason", ",".join(row.get("clamps", ()))) for row in rows
            ], label
        elif price:
            results = [row.get("price", row.get("floor_minor")) for row in rows]
            assert fitted(price, len(rows)) == results, label


def clamps_of(cell: str, size: int) -> list[str]:
    bare = re.sub(r" \([^()]*\)", "", plain(cell))
    parts = [part.strip().replace(", ", ",").removeprefix("–") for part in bare.split(";")]
    return parts * size if len(parts) == 1 else parts


def test_scorecard_and_phantom_tables_of_the_domain_page_equal_the_vectors() -> None:
    lead, sample = VECTORS["scorecard"]["lead_time"], VECTORS["scorecard"]["sample"]
    first, second = table("7 scorecard").rows
    assert (lead["ordered"] in first[1], lead["received"].split()[1] in first[1]) == (True, True)
    assert numbers(first[2]) == [lead["centidays"]]
    assert numbers(second[1].replace(",", " ")) == sample["lead_times_centidays"]
    results = [sample[name] for name in ("mean", "sd", "p50", "p90")]
    assert numbers(second[2].replace(",", " ")) == results
    phantom = VECTORS["phantom"]
    for cells, case in zip(table("8 phantom").rows, phantom["cases"], strict=True):
        assert numbers(cells[0]) == [case["quiet_windows"]]
        assert numbers(cells[1]) == [case["exponent_micro"]]
        assert cells[2] == ("yes" if case["suspect"] else "no")
    assert f"`phantom_lambda_micro` ({phantom['lambda_micro']:,}" in text()


def test_a_changed_number_on_the_domain_page_is_detected() -> None:
    row = VECTORS["quantity"][9]
    assert_said("Q10 MOQ 50", row)
    with pytest.raises(AssertionError, match="51"):
        assert_said("Q10 MOQ 51", row)

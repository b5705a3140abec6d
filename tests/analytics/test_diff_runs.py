"""Differences of real runs: equal ones, changed rules, damage, and files for analysts."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typing_extensions import override

from analytics.archive.names import SOURCE
from analytics.archive.source import write_source_id
from analytics.backfill.diff.compared_runs import ComparedRuns, NotComparable, compared_runs
from analytics.backfill.diff.comparison import Diff, checked_pairs
from analytics.backfill.diff.page import write_page
from analytics.backfill.diff.revised import PRICE, REORDER
from analytics.backfill.diff.scratch import Scratch, ScratchUnusable
from analytics.backfill.diff.sides import Sides
from analytics.backfill.diff.tables import DIGEST, SCHEMAS, write_tables
from analytics.backfill.plan import load
from analytics.backfill.run import runs_dir
from analytics.backfill.seal import RUN_FILE, RUN_MANIFEST
from analytics.engines.results import OUTPUTS, STATES, ResultFile
from inventory.revision import LOGIC_REVISION
from tests.analytics import two_runs
from tests.analytics.two_runs import Change, Home, a_history, a_home


@pytest.fixture(name="home", scope="module")
def a_home_of_the_module(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return a_home(tmp_path_factory.mktemp("diff") / "home")


@pytest.fixture(name="scratch")
def a_scratch() -> Iterator[Scratch]:
    with Scratch() as found:
        yield found


def counts(found: Diff[Sides], kind: str = REORDER) -> dict[str, int]:
    """Return class → number of differences, without zeros; `equal` → number of equal decisions."""
    names = ("only_a", "only_b", "changed", "course", "explanation")
    sums = {name: found.sums(kind)[name] for name in names}
    return {name: count for name, count in sums.items() if count} | {
        "equal": found.totals[kind].equal
    }


def test_equal_rules_give_an_empty_difference_whatever_the_buckets(
    home: Home, scratch: Scratch
) -> None:
    found = home.compare(home.run(), home.run(buckets=4), scratch)

    assert (found.is_equal, found.exit_code, found.groups) == (True, 0, ())
    assert [*scratch.ranked(REORDER), *scratch.ranked(PRICE)] == []
    assert counts(found) == {"equal": 6}
    assert counts(found, PRICE) == {"equal": 3}
    assert found.as_json()["decisions_differing"] == 0


@pytest.mark.parametrize(
    ("change", "reorders", "prices"),
    [
        (
            two_runs.higher_reorder_point,
            {"only_b": 4, "course": 3, "explanation": 3, "equal": 0},
            {"equal": 3},
        ),
        (two_runs.one_pack_more, {"changed": 6, "equal": 0}, {"equal": 3}),
        (two_runs.another_term, {"explanation": 6, "equal": 0}, {"equal": 3}),
        (two_runs.lower_floor, {"equal": 6}, {"changed": 3, "equal": 0}),
    ],
)
def test_a_changed_rule_shows_in_its_class_only(
    home: Home,
    scratch: Scratch,
    change: Change,
    reorders: dict[str, int],
    prices: dict[str, int],
) -> None:
    found = home.compare(home.run(), home.run(change), scratch)

    assert (counts(found), counts(found, PRICE)) == (reorders, prices)
    assert found.exit_code == 1


def test_a_changed_explanation_changes_no_decision_and_no_amount(
    home: Home, scratch: Scratch
) -> None:
    found = home.compare(home.run(), home.run(two_runs.another_term), scratch).as_json()

    assert (found["decisions_differing"], found["explanations_differing"]) == (0, 6)
    assert found["reorders"]["a_minor"] == found["reorders"]["delta_minor"] == 0
    assert found["reorders"]["a"]["minor"] == found["reorders"]["b"]["minor"] > 0


def test_differences_in_units_and_money_add_up_to_the_totals_of_both_runs(
    home: Home, scratch: Scratch
) -> None:
    found = home.compare(home.run(), home.run(two_runs.one_pack_more), scratch)
    rows = list(scratch.ranked(REORDER))

    deltas = [int(str(row["delta_minor"])) for row in rows]
    assert deltas == sorted(deltas, reverse=True)
    assert {row["delta_units"] for row in rows} == {6}
    assert {(row["a_cost_minor"], row["delta_minor"]) for row in rows} == {(500, 3000), (900, 5400)}
    totals = found.totals[REORDER].sides
    assert totals[1].minor - totals[0].minor == found.sums(REORDER)["delta_minor"] == sum(deltas)
    for dimension in ("store", "supplier", "reason", "week"):
        of_it = [g for g in found.groups if (g["kind"], g["dimension"]) == (REORDER, dimension)]
        assert sum(group["delta_minor"] for group in of_it) == sum(deltas)
        assert sum(group["differing"] for group in of_it) == len(rows)


def test_pages_together_hold_every_row_once(home: Home, scratch: Scratch) -> None:
    home.compare(home.run(), home.run(two_runs.higher_reorder_point), scratch)
    everything = list(scratch.ranked(REORDER))

    paged = [
        row
        for offset in range(0, len(everything), 3)
        for row in scratch.ranked(REORDER, limit=3, offset=offset)
    ]

    assert paged == everything
    assert [row["how"] == "explanation" for row in everything] == [False] * 7 + [True] * 3


def test_the_digest_depends_on_the_differences_and_not_on_engine_buckets_or_names(
    home: Home,
) -> None:
    def digest(a: str, b: str) -> str:
        with Scratch() as scratch:
            return home.compare(a, b, scratch).digest

    changed = two_runs.higher_reorder_point
    one = digest(home.run(), home.run(changed))
    split = digest(home.run(buckets=3), home.run(changed, buckets=5))
    other_code = digest(home.run(code="c1"), home.run(changed, code="c2", engine="spark"))
    swapped = digest(home.run(changed), home.run())
    other_rule = digest(home.run(), home.run(two_runs.another_term))

    assert one == split == other_code
    assert len({one, swapped, other_rule, digest(home.run(), home.run())}) == 4


def test_swapped_runs_swap_the_sides(home: Home) -> None:
    a, b = home.run(), home.run(two_runs.higher_reorder_point)
    with Scratch() as ours, Scratch() as theirs:
        one, other = home.compare(a, b, ours), home.compare(b, a, theirs)

        assert counts(one)["only_b"] == counts(other)["only_a"]
        assert one.sums(REORDER)["delta_minor"] == -other.sums(REORDER)["delta_minor"]


# Runs that can't be compared


def refusal(home: Home, a: str, b: str) -> NotComparable:
    with Scratch() as scratch, pytest.raises(NotComparable) as refused:
        home.compare(a, b, scratch)
    assert refused.value.exit_code == 2
    assert refused.value.kept == "nothing was compared, and no file was changed"
    assert refused.value.step
    return refused.value


@pytest.mark.parametrize("kind", [OUTPUTS, STATES])
def test_a_damaged_file_of_a_run_is_named(tmp_path: Path, kind: str) -> None:
    home = a_home(tmp_path / "home", a_history(steps=60))
    a, b = home.run(), home.run(two_runs.one_pack_more)
    path = next((runs_dir(home.settings) / b).rglob(f"{kind}.parquet"))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)

    refused = refusal(home, a, b)

    assert f"{path}: changed" in refused.problem
    assert f"inventory backfill discard {b} --yes" in refused.step


def test_an_unfinished_run_is_named_with_its_missing_units(tmp_path: Path) -> None:
    home = a_home(tmp_path / "home", a_history(steps=60))
    a, b = home.run(), home.run(two_runs.one_pack_more)
    directory = runs_dir(home.settings) / a
    (directory / RUN_FILE).unlink()
    lines = (directory / RUN_MANIFEST).read_text().splitlines(keepends=True)
    (directory / RUN_MANIFEST).write_text(lines[0])

    assert f"run {a} is unfinished: 1 of {len(lines)} units" in refusal(home, a, b).problem
    assert refusal(home, a, "nothing").problem.startswith("no run 'nothing'")


def test_last_and_a_revision_name_the_newest_finished_runs_with_equal_ends(tmp_path: Path) -> None:
    home = a_home(tmp_path / "home", a_history(steps=60))
    a, b = home.run(), home.run(two_runs.one_pack_more)
    runs = runs_dir(home.settings)
    ends = load(runs / a).ends
    verified = home.run(ends=ends | {0: ends[0] - 1})
    computing = home.run(two_runs.lower_floor)
    (runs / computing / RUN_FILE).unlink()

    def names(one: str, other: str) -> tuple[str, str]:
        found = compared_runs(runs, one, other)
        return found.a.name, found.b.name

    assert names(a, "last") == (a, b)
    assert names("last", b) == (a, b)
    assert names("last", "last") == (verified, verified)
    assert names(a, str(LOGIC_REVISION)) == (a, b)
    assert f"run {computing} is unfinished" in refusal(home, a, computing).problem


def other_topic(home: Home) -> None:
    (home.settings.archive_dir / SOURCE).unlink()
    write_source_id(home.settings.archive_dir, "another")


def test_runs_of_other_offsets_topics_or_files_are_refused(tmp_path: Path) -> None:
    home = a_home(tmp_path / "home", a_history(steps=60))
    a = home.run()
    ends = load(runs_dir(home.settings) / a).ends
    shorter = home.run(ends=ends | {0: ends[0] - 1})
    problem = refusal(home, a, shorter)
    assert f"partition 0: {ends[0]} and {ends[0] - 1}" in problem.problem
    assert f"inventory backfill run --until {a}" in problem.step

    other_topic(home)
    assert "ids id-of-the-topic and another" in refusal(home, a, home.run()).problem

    other = a_home(tmp_path / "other", a_history(4, steps=60))
    other_topic(other)
    ends = {number: 30 * (end > 30) for number, end in ends.items()}
    known, foreign = home.run(ends=ends), other.run(ends=ends)
    (runs_dir(other.settings) / foreign).rename(runs_dir(home.settings) / foreign)
    assert "read different records of partitions" in refusal(home, known, foreign).problem


def test_runs_of_another_generation_are_refused(tmp_path: Path) -> None:
    homes = [a_home(tmp_path / str(n), a_history(steps=60), generation=n) for n in (1, 2)]
    former, present = (home.run() for home in homes)
    runs = [runs_dir(home.settings) for home in homes]
    (runs[1] / present).rename(runs[0] / f"{present}-2")

    problem = refusal(homes[0], former, f"{present}-2").problem

    assert "are of generations [1] and [2]" in problem


def test_a_result_file_deleted_after_the_check_is_reported(tmp_path: Path) -> None:
    home = a_home(tmp_path / "home", a_history(steps=60))
    name = home.run()
    runs = compared_runs(runs_dir(home.settings), name, name)
    row = runs.a.rows[0]
    path = Path(row.directory) / f"{OUTPUTS}.parquet"
    path.unlink()

    with pytest.raises(NotComparable, match="are gone"):
        list(checked_pairs(runs, row.partition))


def test_a_decision_of_another_release_is_named(tmp_path: Path) -> None:
    home = a_home(tmp_path / "home", a_history(steps=60))
    name = home.run()
    runs = compared_runs(runs_dir(home.settings), name, name)
    file = ResultFile(tmp_path, OUTPUTS)
    file.write(b"L0|S0", 7, b'{"schema":9}')
    file.close()
    row = replace(runs.a.rows[0], directory=str(tmp_path), files={OUTPUTS: file.written()})
    other = ComparedRuns(runs.a, replace(runs.b, rows=(row,)))

    with pytest.raises(NotComparable, match="schema 9 is unknown here") as refused:
        list(checked_pairs(other, row.partition))
    assert refused.value.exit_code == 2


def test_a_full_disk_is_named_with_the_next_step(home: Home, scratch: Scratch) -> None:
    scratch._base.execute("PRAGMA max_page_count = 3")

    with pytest.raises(ScratchUnusable, match=r"full.*TMPDIR") as refused:
        home.compare(home.run(), home.run(two_runs.higher_reorder_point), scratch)
    assert refused.value.exit_code == 2


# Files for analysts


def test_the_parquet_files_are_typed_and_complete(
    home: Home, scratch: Scratch, tmp_path: Path
) -> None:
    found = home.compare(home.run(), home.run(two_runs.higher_reorder_point), scratch)

    paths = write_tables(found, tmp_path / "out")

    tables = {path.stem: pq.read_table(path) for path in paths}
    assert {name: table.num_rows for name, table in tables.items()} == {
        "reorders": 10,
        "prices": 0,
        "groups": len(found.groups),
    }
    for name, table in tables.items():
        assert table.schema.remove_metadata() == SCHEMAS[name]
        assert table.schema.metadata[DIGEST].decode() == found.digest
    reorders = tables["reorders"]
    assert reorders.schema.field("delta_minor").type == pa.int64()
    assert reorders.schema.field("b_flags").type == pa.list_(pa.string())
    first = reorders.slice(0, 1).to_pylist()[0]
    row = next(scratch.ranked(REORDER))
    assert (first["week"], first["as_of"].year) == (date(2026, 3, 2), 2026)
    assert (first["how"], first["a_quantity_units"], first["b_quantity_units"]) == (
        *("only_b", None),
        row["b_quantity_units"],
    )
    assert sum(reorders.column("delta_minor").to_pylist()) == found.sums(REORDER)["delta_minor"]


class Links(HTMLParser):
    """The tags of a page, and its attributes that could load something."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.loads: list[str] = []

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.loads += [name for name, _ in attrs if name in ("src", "href", "srcset", "data")]


def test_the_page_escapes_names_and_loads_nothing(
    home: Home, scratch: Scratch, tmp_path: Path
) -> None:
    found = home.compare(home.run(), home.run(two_runs.higher_reorder_point), scratch)

    text = write_page(found, tmp_path / "new" / "diff.html").read_text()

    assert "&lt;b&gt;&amp;Co&lt;/b&gt;" in text
    assert "<b>&Co" not in text
    links = Links()
    links.feed(text)
    assert links.loads == []
    assert not links.tags & {"script", "link", "img", "iframe", "object", "form"}
    assert re.search(r"https?:|url\(|@import", text) is None
    assert found.digest in text
    assert text.count('class="bar') > 3


def test_columns_of_numbers_are_aligned_with_their_absent_values(
    home: Home, scratch: Scratch, tmp_path: Path
) -> None:
    found = home.compare(home.run(), home.run(two_runs.higher_reorder_point), scratch)

    text = write_page(found, tmp_path / "diff.html").read_text()

    assert '<td class="n">–</td>' in text
    assert "<td>–</td>" not in text
    assert '<th class="n">A units</th>' in text
    # The cells of week and record end in a digit, but aren't amounts, so they lack the class `n`.
    assert re.search(r"<td>\d{4}-\d\d-\d\d</td><td>\d+@\d+</td>", text)


def test_a_long_table_states_how_many_rows_are_missing(
    home: Home, scratch: Scratch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analytics.backfill.diff.page.MOST_ROWS", 9)
    found = home.compare(home.run(), home.run(two_runs.higher_reorder_point), scratch)

    text = write_page(found, tmp_path / "diff.html").read_text()

    assert "1 row is not shown; `--out` writes all of them" in text


def test_equal_runs_give_empty_files(home: Home, scratch: Scratch, tmp_path: Path) -> None:
    found = home.compare(home.run(), home.run(), scratch)

    assert [pq.read_table(path).num_rows for path in write_tables(found, tmp_path)] == [0, 0, 0]
    assert "The decisions are equal." in write_page(found, tmp_path / "diff.html").read_text()

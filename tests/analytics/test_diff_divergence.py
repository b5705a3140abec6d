"""The first record at which two runs decide differently, explained by the rules of both."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from analytics.backfill.diff.compared_runs import ComparedRuns, NotComparable, compared_runs
from analytics.backfill.diff.divergence import Divergence, Trees, divergence
from analytics.backfill.run import runs_dir
from analytics.engines import code
from deploy.stack.home import PROJECT
from tests.analytics import two_runs
from tests.analytics.two_runs import Change, Home, a_history, a_home

pytestmark = pytest.mark.engines

KEY = "L0|S3"


@pytest.fixture(name="home", scope="module")
def a_home_of_the_module(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return a_home(tmp_path_factory.mktemp("divergence") / "home")


@pytest.fixture(name="tree", scope="module")
def a_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source tree with the change of `higher_reorder_point`: reorder points are 3 higher."""
    found = tmp_path_factory.mktemp("rules") / "tree"
    for package in ("inventory", "cdc", "analytics"):
        shutil.copytree(PROJECT / package, found / package)
    path = found / "inventory" / "replenishment" / "levels.py"
    changed, count = re.subn(
        r"Levels\(0, policy\.reorder_point_units, policy\.order_up_to_units\)",
        "Levels(0, (policy.reorder_point_units or 0) + 3, policy.order_up_to_units)",
        path.read_text(),
    )
    assert count == 1
    path.write_text(changed)
    return found


def hash_of(tree: Path) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code, "ROOT", tree)
        return code.code_hash.__wrapped__()


def runs_of(home: Home, change: Change, *, code_of_b: str = "") -> ComparedRuns:
    a = home.run(code=code.code_hash())
    return compared_runs(runs_dir(home.settings), a, home.run(change, code=code_of_b))


def found_in(home: Home, change: Change, trees: Trees = Trees(), code_of_b: str = "") -> Divergence:  # noqa: B008 -- frozen
    found = divergence(home.settings, runs_of(home, change, code_of_b=code_of_b), KEY, trees)
    assert found is not None
    return found


def different(found: Divergence) -> Iterator[tuple[str, str, str, str]]:
    return (line for line in found.lines() if line[2] != line[3])


def test_both_rules_explain_the_first_record_at_which_they_differ(home: Home, tree: Path) -> None:
    found = found_in(home, two_runs.higher_reorder_point, Trees((tree,)), hash_of(tree))

    record = found.record()
    assert record is not None
    assert (record.table, record.op, record.verdict) == ("sale_line", "c", "applied")
    assert [side.problem for side in (found.a, found.b)] == ["", ""]
    lines = {(section, label): (a, b) for section, label, a, b in different(found)}
    assert lines["Levels", "Reorder point"] == ("20", "23")
    assert lines["Need", "Episode state"] == ("idle", "open")
    assert lines["Written by the run", "Status"] == ("", "open")
    assert ("Stock", "On hand") not in lines
    first = min(found.differences, key=lambda one: int(str(one.row["first_offset"])))
    assert (first.how, first.row["b_id"]) == ("only_b", f"R:{KEY}:1-{found.offset}")


def test_a_run_without_its_source_tree_is_explained_by_its_written_terms(
    home: Home, tree: Path
) -> None:
    other = found_in(home, two_runs.one_pack_more, Trees((tree,)))

    assert "name the run's source tree with --code" in other.b.problem
    lines = {(section, label): (a, b) for section, label, a, b in different(other)}
    assert lines["Written by the run", "Reorder point"] == ("", "20")
    assert other.a.found is not None
    assert other.b.found is None


def test_a_tree_that_fails_is_named(home: Home, tmp_path: Path) -> None:
    (tmp_path / "analytics").mkdir()
    (tmp_path / "analytics" / "__init__.py").write_text("raise RuntimeError('half a merge')")

    found = found_in(home, two_runs.one_pack_more, Trees((tmp_path,)))

    assert f"{tmp_path} could not explain the record: RuntimeError: half a merge" in found.b.problem


def test_a_changed_decision_is_shown_instead_of_an_earlier_explanation(home: Home) -> None:
    found = found_in(home, two_runs.lower_floor)

    assert {one.how for one in found.differences} == {"changed"}
    assert found.as_json()["differences"][0]["kind"] == "price"


def test_a_key_with_equal_decisions_has_no_divergent_record(home: Home) -> None:
    runs = runs_of(home, two_runs.nothing, code_of_b="other")

    assert divergence(home.settings, runs, KEY, Trees()) is None
    with pytest.raises(NotComparable, match=r"'L0.none': neither run decided about this key"):
        divergence(home.settings, runs, "L0|none", Trees())


def test_a_damaged_archive_file_is_named(tmp_path: Path) -> None:
    home = a_home(tmp_path / "home", a_history())
    runs = runs_of(home, two_runs.higher_reorder_point)
    for path in home.settings.archive_dir.rglob("*.parquet"):
        path.write_bytes(path.read_bytes()[:-1])

    with pytest.raises(NotComparable, match="bytes, expected"):
        divergence(home.settings, runs, KEY, Trees())

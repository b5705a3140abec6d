"""A logic change before it runs: parameters, trees, refusals and the plan."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from analytics.archive.rows import read
from analytics.backfill.change import changed
from analytics.backfill.change.changed import Change, Origin, change_of
from analytics.backfill.change.effect import effect_of, policy_images
from analytics.backfill.change.fingerprint import fingerprint, same_number_other_rules
from analytics.backfill.change.parameters import BadParameter, rule_of, text_of
from analytics.backfill.change.planned import (
    NotPublishableLater,
    planned,
    refuse_unpublishable,
)
from analytics.backfill.change.trees import (
    PACKAGES,
    REVISION,
    NoSourceTree,
    revision_of,
    write_commit_tree,
    write_overlay_tree,
)
from analytics.backfill.ends import NoBroker, ends_before, history, time_us
from analytics.backfill.plan import Plan, Rules, UnknownRun, make_plan
from analytics.backfill.run import execute, runs_dir
from analytics.engines.code import ROOT, hash_of
from analytics.engines.results import STATES, read_rows
from analytics.engines.selection import EVERYTHING, Selection
from cdc.contracts.times import time_text
from cdc.settings import Connections
from inventory.parameters.overlay import OverlayRule
from inventory.revision import LOGIC_REVISION
from tests.analytics.histories import PARTITIONS
from tests.analytics.two_runs import Home, a_home

pytestmark = pytest.mark.engines

OF_L1 = rule_of(["reorder_point_units=30"], ["store=L1"])


@pytest.fixture(name="home", scope="module")
def a_home_of_the_module(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return a_home(tmp_path_factory.mktemp("change") / "home")


@pytest.fixture(name="sources", scope="module")
def sources_of_the_rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the rules in a git repository, with one commit and the tag v1."""
    tree = tmp_path_factory.mktemp("sources")
    for package in ("inventory", "cdc/contracts", "analytics/engines", "analytics/archive"):
        shutil.copytree(
            ROOT / package, tree / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    git(tree, "init", "-q")
    git(tree, "add", ".")
    git(tree, "-c", "user.name=A", "-c", "user.email=a@b.example", "commit", "-qm", "first")
    git(tree, "tag", "v1")
    return tree


@pytest.fixture(name="tree")
def a_changed_copy(sources: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sources, tmp_path / "tree"))


def git(tree: Path, *arguments: str) -> None:
    command = ["git", "-C", str(tree), *arguments]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 -- fixed arguments


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def a_plan(home: Home, change: Change | None = None, selection: Selection = EVERYTHING) -> Plan:
    ends = {number: home.manifest.next_offset(number) for number in range(PARTITIONS)}
    return make_plan(
        home.manifest,
        engine="local",
        ends=ends,
        selection=selection,
        rules=None if change is None else change.rules,
    )


# --- parameters as text


def test_parameters_are_read_with_short_names_and_their_types() -> None:
    found = rule_of(
        ["hysteresis_units=3", "ladder_permille=100,250", "scarce_enabled=true", "supplier=null"],
        ["family=sS, store=BERLIN-1", "item=A,B C"],
    )

    assert found.changes == (
        ("hysteresis_units", 3),
        ("ladder_permille", (100, 250)),
        ("scarce_enabled", True),
        ("supplier", None),
    )
    assert found.where == (
        ("replenish_family", "sS"),
        ("location", "BERLIN-1"),
        ("sku", "A,B C"),
    )
    assert text_of(found) == (
        "hysteresis_units = 3, ladder_permille = 100,250, scarce_enabled = true, supplier = null "
        "where replenish_family = sS, location = BERLIN-1, sku = A,B C"
    )
    assert text_of(rule_of(["pack_units=6"])) == "pack_units = 6 for every item"


def test_a_wrong_parameter_is_refused_before_anything_is_computed() -> None:
    with pytest.raises(BadParameter, match="expected a whole number") as refused:
        rule_of(["hysteresis_units=many"])

    assert "nothing was computed" in str(refused.value)


# --- source trees


def test_parameters_create_a_source_tree_with_the_next_revision_number(tmp_path: Path) -> None:
    trees = tmp_path / "trees"

    tree = write_overlay_tree(trees, (OF_L1,))
    again = write_overlay_tree(trees, (OF_L1,))
    other = write_overlay_tree(trees, (rule_of(["pack_units=6"]),))

    assert tree == again
    assert (revision_of(tree), revision_of(other)) == (LOGIC_REVISION + 1, LOGIC_REVISION + 2)
    assert sorted(path.name for path in tree.iterdir()) == sorted(PACKAGES)
    assert {path.name for path in trees.iterdir()} == {tree.name, other.name}
    change = change_of(Origin(code=tree), trees)
    assert change.text == "reorder_point_units = 30 where location = L1"
    assert change.rules == Rules(LOGIC_REVISION + 1, hash_of(tree))
    assert [*change.problems()] == []


def test_a_parameter_tree_accepts_a_chosen_revision_but_no_second_overlay(tmp_path: Path) -> None:
    tree = write_overlay_tree(tmp_path, (OF_L1,), revision=9)

    assert revision_of(tree) == 9
    with pytest.raises(NoSourceTree, match="have parameters already"):
        write_overlay_tree(tmp_path, (OF_L1,), base=tree)


def test_trees_that_are_written_at_the_same_time_get_different_numbers(tmp_path: Path) -> None:
    overlays = [(rule_of([f"moq_units={units}"]),) for units in (1, 2, 3)]

    with ThreadPoolExecutor(len(overlays)) as pool:
        found = list(pool.map(partial(write_overlay_tree, tmp_path), overlays))

    first = LOGIC_REVISION + 1
    assert sorted(map(revision_of, found)) == [first, first + 1, first + 2]


def test_a_commit_becomes_a_source_tree_and_an_unknown_ref_is_refused(
    sources: Path, tmp_path: Path
) -> None:
    tree = write_commit_tree(tmp_path, "v1", project=sources)

    assert tree == write_commit_tree(tmp_path, "HEAD", project=sources)
    assert fingerprint(tree) == fingerprint(sources)
    for name in ("no-such-tag", "--output=x"):
        with pytest.raises(NoSourceTree, match=f"--ref '{name}'"):
            write_commit_tree(tmp_path, name, project=sources)
    with pytest.raises(NoSourceTree, match="expected one of them"):
        change_of(Origin(code=sources, ref="v1"), tmp_path)
    with pytest.raises(NoSourceTree, match=r"revision\.py: No such file"):
        change_of(Origin(code=tmp_path), tmp_path)


# --- changed rules need a number


def test_code_changes_but_not_comments_require_a_new_logic_revision(tree: Path) -> None:
    rules = tree / "inventory" / "replenishment" / "quantity.py"
    rules.write_text(rules.read_text("utf-8") + "\n# explained\n", "utf-8")
    edit(tree / "inventory/fold/record.py", '"""The fold: ', '"""The pure fold: ')
    assert not same_number_other_rules(tree, ROOT)

    rules.write_text(rules.read_text("utf-8") + "\nMORE = 1\n", "utf-8")
    assert same_number_other_rules(tree, ROOT)

    edit(tree / REVISION, f"Final = {LOGIC_REVISION}\n", f"Final = {LOGIC_REVISION + 1}\n")
    assert not same_number_other_rules(tree, ROOT)


def test_every_reason_against_a_publication_is_named(tree: Path, tmp_path: Path) -> None:
    def problems() -> str:
        return "; ".join(change_of(Origin(code=tree), tmp_path).problems())

    assert "has the rules and the logic revision" in problems()

    edit(tree / "inventory/fold/record.py", "MOST_COUNTS_PER_DAY = 1000", "MOST_COUNTS_PER_DAY = 9")
    assert "raise LOGIC_REVISION in inventory/revision.py" in problems()
    assert "uncommitted changes: inventory/fold/record.py" in problems()

    edit(tree / REVISION, f"Final = {LOGIC_REVISION}\n", f"Final = {LOGIC_REVISION + 1}\n")
    edit(tree / REVISION, "    {\n", f"    {{\n        {LOGIC_REVISION + 1}: 'fewer counts',\n")
    git(tree, "-c", "user.name=A", "-c", "user.email=a@b.example", "commit", "-qam", "rules")
    assert problems() == ""
    assert change_of(Origin(code=tree), tmp_path).text == "fewer counts"


def test_this_code_is_refused_only_if_its_results_changed(
    home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = change_of(Origin(), tmp_path)
    refuse_unpublishable(home.manifest, a_plan(home), own)
    assert own.is_own

    monkeypatch.setattr(changed, "gives_recorded_results", lambda: False)

    with pytest.raises(NotPublishableLater, match="changes rules and keeps logic revision"):
        refuse_unpublishable(home.manifest, a_plan(home), own)


# --- the plan


def test_a_plan_names_what_a_run_computes_and_the_measured_rate(home: Home, tmp_path: Path) -> None:
    change, runs = change_of(Origin(overlay=(OF_L1,)), tmp_path), runs_dir(home.settings)
    before = planned(home.manifest, a_plan(home, change), change, runs)

    assert before.as_json()["publishable"] is True
    assert (before.records, before.units_finished) == (318, 0)
    assert (before.records_new, before.seconds) == (318, None)
    assert before.effect is not None
    assert (before.effect.rows, before.effect.rows_changed) == (9, 3)
    assert before.bytes == sum(file.bytes for file in home.manifest.all_files())

    own = execute(a_plan(home), runs).plan
    after = planned(home.manifest, own, change_of(Origin(), tmp_path), runs)
    assert after.units_finished == len(own.units)
    assert after.records_new == 0


def test_filters_and_invalid_or_unmatched_policy_rows_prevent_publication(
    home: Home, tmp_path: Path
) -> None:
    def problems(rule: OverlayRule, selection: Selection = EVERYTHING) -> str:
        change = change_of(Origin(overlay=(rule,)), tmp_path)
        plan = a_plan(home, change, selection)
        found = planned(home.manifest, plan, change, runs_dir(home.settings))
        if found.problems:
            with pytest.raises(NotPublishableLater):
                refuse_unpublishable(home.manifest, plan, change)
        return "; ".join(found.problems)

    assert problems(OF_L1) == ""
    assert problems(OF_L1, Selection(stores=("L1",))) == "it holds store L1 only"
    assert "no policy row matches" in problems(rule_of(["pack_units=6"], ["store=NO"]))
    assert "order_up_to_units must be above" in problems(rule_of(["order_up_to_units=1"]))


def test_the_effect_counts_only_policy_rows_before_the_end_offsets(home: Home) -> None:
    everything = {number: home.manifest.next_offset(number) for number in range(PARTITIONS)}
    position, key, _image = next(policy_images(home.manifest, everything))
    number, offset = map(int, re.findall(r"\d+", position))

    def rows(ends: dict[int, int], selection: Selection = EVERYTHING) -> int:
        return effect_of(home.manifest, ends, (OF_L1,), selection).rows

    assert rows(everything) == 9
    assert (rows({number: offset}), rows({number: offset + 1})) == (0, 1)
    assert rows(everything, Selection(keys=(key.decode(),))) == 1


# --- selections


def states(home: Home, selection: Selection) -> dict[bytes, bytes]:
    report = execute(a_plan(home, selection=selection), runs_dir(home.settings))
    found = (entry for row in report.rows for entry in read_rows(row, STATES))
    return {key: content for key, _offset, content in found}


@pytest.mark.parametrize(
    ("selection", "keys"),
    [
        (Selection(keys=("L0|S3", "L1|S4")), {b"L0|S3", b"L1|S4"}),
        (Selection(stores=("L2",)), {b"L2|S2", b"L2|S5", b"L2|S8"}),
        (Selection(stores=("L0", "L1"), items=("S0", "S1", "S2")), {b"L0|S0", b"L1|S1"}),
        (Selection(suppliers=("ACME",), items=("S0", "S1")), {b"L0|S0"}),
        (Selection(stores=("NO",)), set()),
    ],
)
def test_selected_keys_have_the_states_of_a_complete_run(
    home: Home, selection: Selection, keys: set[bytes]
) -> None:
    everything = states(home, EVERYTHING)

    assert states(home, selection) == {key: everything[key] for key in keys}


def test_a_selection_changes_the_run_id_and_has_a_text(home: Home) -> None:
    some = Selection(stores=("L1", "L2"), suppliers=("ACME",))

    assert a_plan(home, selection=some).run != a_plan(home).run
    assert some.text() == "store L1 or L2, supplier ACME"
    assert EVERYTHING.text() == "all keys"


# --- the end of the history


def test_a_history_can_end_before_a_time_or_at_the_archive_end(home: Home) -> None:
    runs = runs_dir(home.settings)
    offline = home.settings.model_copy(update={"kafka_bootstrap": ""})
    manifest, ends = history(home.settings, "archived", runs=runs)
    assert ends == {number: manifest.fact_end(number) for number in range(PARTITIONS)}

    newest = {file.partition: file.newest_commit_us or 0 for file in manifest.all_files()}
    at_us = min(newest.values()) // 1_000_000 * 1_000_000
    earlier = history(offline, time_text(at_us), runs=runs)[1]
    assert time_us(time_text(at_us)) == at_us
    assert earlier == ends_before(manifest, PARTITIONS, at_us)
    commits = {
        number: [
            found
            for file in manifest.files(number)
            for found in commit_times(manifest.directory / file.file)
        ]
        for number in range(PARTITIONS)
    }
    for number, end in earlier.items():
        assert all(commit < at_us for offset, commit in commits[number] if offset < end)
        assert all(commit >= at_us for offset, commit in commits[number] if offset == end)
    assert earlier != ends
    with pytest.raises(NoBroker, match=r"ends at 2026-03-\d\d .* UTC; .* but no stack runs here"):
        history(offline, "2027-01-01", runs=runs)
    with pytest.raises(NoBroker):
        history(offline, {0: ends[0] + 1, 1: 0, 2: 0}, runs=runs)
    with pytest.raises(UnknownRun, match="no run 'soon': expected 'last'"):
        history(home.settings, "soon", runs=runs)


def commit_times(path: Path) -> Iterator[tuple[int, int]]:
    return ((row.offset, row.commit_us) for row in read(path) if row.commit_us is not None)


def test_an_empty_archive_has_no_history(tmp_path: Path) -> None:
    with pytest.raises(UnknownRun, match="no record is archived"):
        history(Connections(home=tmp_path, partitions=3), "archived", runs=tmp_path)

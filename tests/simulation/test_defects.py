"""The simulator finds every planted defect. A patch still applies after unrelated edits."""

from pathlib import Path

import pytest

from tests.simulation.defects import COPIED, PROJECT, Finding, hunt, patches
from tests.simulation.planting import DoesNotApply, hunks, place

PATCHES = patches()
HUNTED = [
    patch if number % 11 == 0 else pytest.param(patch, marks=pytest.mark.soak)
    for number, patch in enumerate(PATCHES)
]
# Facts and faults of the shortest history; most take half as many.
LONGEST = 13


def test_there_are_enough_planted_defects() -> None:
    assert len(PATCHES) >= 25


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_a_planted_defect_applies_to_the_sources_as_they_are(patch) -> None:
    assert place(patch.read_text(encoding="utf-8"), PROJECT, COPIED)


PATCH = """A sum that is too small.

--- a/rules/sums.py
+++ b/rules/sums.py
@@ -2,4 +2,4 @@
     first = one()
     second = two()
-    return first + second
+    return first

"""
SOURCE = "def total():\n    first = one()\n    second = two()\n    return first + second\n\n"


@pytest.mark.parametrize(
    ("file", "former", "text"),
    [
        ("sums.py", "second = two()\n", "second = 3  # renamed\n"),
        ("sums.py", "def total", '"""Moved down."""\n\n\n\n\ndef total'),
        ("moved.py", "first = one()\n", "first = zero()\n"),
    ],
)
def test_a_patch_applies_after_nearby_edits_and_a_file_rename(
    tmp_path: Path, file: str, former: str, text: str
) -> None:
    path = tmp_path / "rules" / file
    path.parent.mkdir()
    edited = SOURCE.replace(former, text)
    path.write_text(edited, encoding="utf-8")

    assert place(PATCH, tmp_path, ("rules",)) == {
        path: edited.replace("return first + second", "return first")
    }


@pytest.mark.parametrize(
    "text", ["return second", "return first + second\n\n    return first + second"]
)
def test_a_patch_of_changed_or_repeated_lines_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rules" / "sums.py"
    path.parent.mkdir()
    changed = SOURCE.replace("return first + second", text).replace("second = two()\n", "\n")
    path.write_text(changed, encoding="utf-8")

    with pytest.raises(DoesNotApply, match=r"rules/sums\.py"):
        place(PATCH, tmp_path, ("rules",))


def test_a_narrowed_hunk_of_added_lines_keeps_a_context_line() -> None:
    added = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,3 @@\n one\n+new\n two\n"
    [hunk] = hunks(added)

    assert [part.old for part in hunk.narrower()] == [("one", "two"), ("one",), ("two",)]


@pytest.mark.engines  # each starts a process that may simulate thousands of seeds
@pytest.mark.parametrize("patch", HUNTED, ids=lambda patch: patch.stem)
def test_a_planted_defect_is_found_with_a_short_history(patch) -> None:
    found: Finding = hunt(patch)

    assert found.seed is not None, found.promise
    assert len(found.history) <= LONGEST, found.history

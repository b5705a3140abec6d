"""Commands that execute requests of the analyst desk: arguments, output and limits."""

import sys
from pathlib import Path

import pytest

from analytics.backfill.plan import UnknownRun
from analytics.engines.code import hash_of
from cdc.settings import Connections
from deploy.requests import child
from deploy.requests.child import Running
from deploy.requests.commands import command_line, trees_of

DIGEST = "ab" * 6


def words(home: Path, kind: str, **arguments: str) -> list[str]:
    return list(command_line(Connections(home=home), kind, arguments, "ada"))[3:]


def test_a_switch_names_the_person_who_asked(tmp_path: Path) -> None:
    asked = words(tmp_path, "cutover", revision="3", approval=DIGEST)

    assert asked == [
        *("backfill", "cutover", f"--approval={DIGEST}", "--by=ada", "--json", "--", "3"),
    ]
    assert words(tmp_path, "rollback") == ["backfill", "rollback", "--by=ada", "--json"]
    assert words(tmp_path, "review", a="2", b="3") == ["2", "3", "ada"]


def test_a_comparison_prints_all_groups_and_rows(tmp_path: Path) -> None:
    asked = words(tmp_path, "compare", a="2", b="live")

    assert [word for word in asked if word.startswith("--by")] == [
        *("--by=store", "--by=supplier", "--by=reason", "--by=week"),
    ]
    assert asked[-4:] == ["--json", "--", "2", "live"]


def test_a_publication_of_an_unknown_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownRun, match="run '3'"):
        words(tmp_path, "publish", run="3")


def test_a_tree_is_found_by_the_hash_of_its_rules(tmp_path: Path) -> None:
    tree = tmp_path / "backfill" / "trees" / "v3-one"
    for package in ("inventory", "cdc", "analytics/backfill"):
        (tree / package).mkdir(parents=True)
    (tree / "inventory" / "rules.py").write_text("x = 1\n", encoding="utf-8")
    settings = Connections(home=tmp_path)

    assert trees_of(settings, hash_of(tree)) == [tree]
    assert trees_of(settings, "another") == []


def python(text: str, kind: str = "run") -> tuple[child.Output, list[str]]:
    seen: list[str] = []
    return Running((sys.executable, "-c", text), kind).wait(seen.append), seen


def test_every_line_of_standard_error_is_reported_and_the_last_ones_are_kept() -> None:
    text = "import sys\nfor n in range(20): print(n, file=sys.stderr)\nprint('{\"a\": 1}')"

    found, seen = python(text)

    assert seen == [str(n) for n in range(20)]
    assert found.messages.splitlines() == [str(n) for n in range(8, 20)]
    assert (found.exit_code, found.document) == (0, {"a": 1})


def test_several_documents_become_a_list_and_other_text_is_a_message() -> None:
    assert python("print('{\"a\": 1}'); print('{\"a\": 2}')")[0].document == [{"a": 1}, {"a": 2}]
    found, _ = python("print('no report'); raise SystemExit(4)")
    assert (found.exit_code, found.messages, found.document) == (4, "no report", None)
    assert python("pass")[0].document is None


def test_too_large_a_result_and_too_long_a_command_end_with_a_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(child, "MOST_BYTES", 10)
    assert "The result has 12 bytes, more than 10." in python("print('x' * 11)")[0].messages
    monkeypatch.setitem(child.LIMIT_S, "query", 0.2)
    assert python("import time; time.sleep(600)", "query")[0].exit_code != 0

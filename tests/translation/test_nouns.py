"""In pages, messages and commands, the noun after a number has the right singular or plural."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from deploy.stack.home import PROJECT
from ledger.nouns import NOUNS
from webui.translation.sources import of_pages, of_scripts

IN_TEMPLATES = re.compile(r'\|counted:"([^"]+)"')
IN_PYTHON = re.compile(
    r"counted(?:_text)?\((?:[^\n\"']|\[['\"]\w+['\"]\])*?, ['\"]([^'\"]+)['\"][,)]"
)
FURTHER = {
    *("approvals", "counts", "decisions", "deliveries", "differences", "documents", "drafts"),
    *("entries", "people", "persons", "places", "refusals", "requests", "seconds", "services"),
    *("sessions", "sheets", "shipments", "tasks", "tokens", "topics", "weeks", "workers", "years"),
}
PLURALS = "|".join({many.rpartition(" ")[2] for _, many in NOUNS.values()} | FURTHER)
# A placeholder, and its noun after at most one other word.
FIXED = re.compile(rf"(?:%\((?P<name>\w+)\)s|\{{(?P<script>\w+)\}}) (?:\w+ )?(?:{PLURALS})\b")
# A limit is always above 1. An id counts nothing, and `view` is a word such as "open".
NOT_COUNTED = re.compile(r"most|longest|view$|(?:\w+_)?id$")
# Commands and their reports are in English only.
OF_COMMANDS = ("deploy/cli", "deploy/doctor", "deploy/revisions", "analytics/simulation/wording.py")


def test_each_counted_noun_has_its_plural() -> None:
    found = {
        noun
        for folder, pattern, written in (
            ("webui", "*.html", IN_TEMPLATES),
            ("webui", "*.py", IN_PYTHON),
            ("ledger", "*.py", IN_PYTHON),
        )
        for path in (PROJECT / folder).rglob(pattern)
        if path != PROJECT / "ledger/imports/importer.py"  # a report in English
        for noun in written.findall(path.read_text("utf-8"))
    }

    assert len(found) > 20
    assert found - NOUNS.keys() == set()


def test_no_message_has_a_number_before_a_fixed_plural() -> None:
    fixed = [
        (one.path, one.id)
        for one in sorted(of_pages(PROJECT) | of_scripts(PROJECT))
        if not one.plural
        for found in FIXED.finditer(one.id)
        if not NOT_COUNTED.match(found["name"] or found["script"])
    ]

    assert fixed == [], "use `counted` of ledger.nouns, `|counted`, `Counted` or `ngettext`"


def test_no_page_appends_letters_to_a_translated_text() -> None:
    appended = re.compile(r"end(?:blocktranslate|blocktrans) %\}(?:\{% if [^%]*%\})?[a-z]+\b")
    found = [
        f"{path.relative_to(PROJECT)}: {each[0]}"
        for path in sorted((PROJECT / "webui/templates").rglob("*.html"))
        for each in appended.finditer(path.read_text("utf-8"))
    ]

    assert found == [], "a plural of English letters is wrong in other languages"


def fixed_plurals(path: Path) -> Iterator[str]:
    """Yield `path: {value} plural` for each f-string in which a plural follows a value."""
    behind = re.compile(rf" (?:\w+ )?(?:{PLURALS})\b(?!/)")  # not records/s
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.JoinedStr):
            for value, text in zip(node.values, node.values[1:], strict=False):
                if isinstance(value, ast.FormattedValue) and isinstance(text, ast.Constant):
                    number = ast.unparse(value.value)
                    plural = str(text.value)
                    # A constant is a limit, which is always above 1.
                    counts = not number.isupper() and not number.startswith("counted_text(")
                    if counts and behind.match(plural):
                        yield f"{path.relative_to(PROJECT)}: {{{number}}}{plural}"


def test_no_command_prints_a_number_before_a_fixed_plural() -> None:
    paths = [
        path
        for name in OF_COMMANDS
        for path in ([PROJECT / name] if name.endswith(".py") else (PROJECT / name).rglob("*.py"))
    ]

    assert len(paths) > 50
    assert [text for path in sorted(paths) for text in fixed_plurals(path)] == []

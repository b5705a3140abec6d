"""Catalogues have exactly the message ids of the sources. A translation keeps values and tags."""

import ast
import copy
import gettext
import io
import os
import re
from pathlib import Path

import pytest

from deploy.stack.home import PROJECT
from inventory.explain import formatting
from inventory.explain.lines import note
from ledger.messages import Message, joined, translated
from ledger.nouns import counted
from tests.translation.pseudo import pseudo
from webui.translation.__main__ import updated
from webui.translation.catalogues import compile_catalogues, mo_bytes
from webui.translation.po import Entry, read_po, write_po
from webui.translation.recorded import ACTIONS
from webui.translation.sources import (
    Found,
    of_module,
    of_pages,
    of_script,
    of_scripts,
    of_template,
)
from webui.translation.words import WORDS

# Functions of `inventory.explain.lines` that make a line. The first argument is the line's name.
LINES = ("add", "total", "note")
LOCALE = PROJECT / "webui/locale"
CATALOGUES = sorted(LOCALE.glob("*/LC_MESSAGES/*.po"))
# Functions that write to the audit log. An action is their argument `action`, or their first one.
LOGS = ("log_action", "_log", "_log_change", "note")
PARTS = re.compile(r"%\(\w+\)s|%%|\{\w+\}|<[^>]*>")


def entries(path: Path) -> list[Entry]:
    return read_po(path.read_text(encoding="utf-8"))[1]


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: f"{path.parts[-3]}/{path.name}")
def test_a_catalogue_has_the_messages_of_the_sources_and_no_other(path: Path) -> None:
    found = of_pages(PROJECT) if path.stem == "django" else of_scripts(PROJECT)
    text = path.read_text(encoding="utf-8")

    assert text == updated(text, found), "run `python -m webui.translation`, then translate"
    assert [entry.id for entry in entries(path) if not entry.is_translated] == []


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: f"{path.parts[-3]}/{path.name}")
def test_a_text_keeps_the_values_and_tags_of_its_message(path: Path) -> None:
    differing = [
        (id_, text)
        for entry in entries(path)
        for id_, text in zip((entry.id, entry.plural or entry.id), entry.texts, strict=False)
        if text
        and (
            sorted(PARTS.findall(id_)) != sorted(PARTS.findall(text))
            or (id_[:1] == " ", id_[-1:] == " ") != (text[:1] == " ", text[-1:] == " ")
        )
    ]

    assert differing == []


def test_a_compiled_catalogue_is_read_by_gettext(tmp_path: Path) -> None:
    given = [Entry("one", "many", ("eins", "viele")), Entry("“%(x)s”", "", ("„%(x)s“",))]
    header = "Content-Type: text/plain; charset=UTF-8\nPlural-Forms: nplurals=2; plural=(n != 1);\n"
    found = gettext.GNUTranslations(io.BytesIO(mo_bytes(header, [*given, Entry("left")])))

    assert [found.ngettext("one", "many", number) for number in (1, 2)] == ["eins", "viele"]
    assert found.gettext("“%(x)s”") == "„%(x)s“"
    assert found.gettext("left") == "left"


def test_a_changed_catalogue_is_compiled_again(tmp_path: Path) -> None:
    folder = tmp_path / "de/LC_MESSAGES"
    folder.mkdir(parents=True)
    (folder / "django.po").write_text(write_po("x\n", [Entry("a", "", ("b",))]), encoding="utf-8")
    compile_catalogues(tmp_path)
    before = (folder / "django.mo").read_bytes()
    compile_catalogues(tmp_path)
    (folder / "django.mo").write_bytes(b"old")
    os.utime(folder / "django.mo", (0, 0))
    compile_catalogues(tmp_path)

    assert (folder / "django.mo").read_bytes() == before


def test_reading_a_written_catalogue_gives_the_same_entries() -> None:
    long = "Words " * 30 + 'with "quotes", \\ and\nlines'
    given = [Entry(long, "", (long[::-1],)), Entry("one", "many", ("", ""))]

    assert read_po(write_po("head\n", given)) == ("head\n", sorted(given, key=lambda one: one.id))
    with pytest.raises(ValueError, match="line 1"):
        read_po("nonsense")


def test_message_ids_are_found_in_templates_modules_and_scripts() -> None:
    template = """{% load i18n %}{% translate "A %" %}{% blocktranslate with x=y %}B {{ x }}
    {% endblocktranslate %}{% blocktranslate count n=m %}{{ n }} c{% plural %}{{ n }} cs
    {%- endblocktranslate %}{{ who|default:_("D") }}"""
    module = """refuse("f", 1, "E"); raise_(Conflict(Message("F %(x)s", x=1)))
gettext("G" if a else "H"); CodeField((), rule="I"); plural_noop("j", "js")
Counted("k", "ks", 1)"""

    assert {one.id for one in of_template(template.replace("{%-", "{%"))} >= {"A %%", "D"}
    assert {one.id for one in of_module(module)} == {"E", "F %(x)s", "G", "H", "I", "j", "k"}
    assert {*of_script('text("K"); counted("l", "ls", 2)')} == {
        Found("K", "", ""),
        Found("l", "ls", ""),
    }


def test_no_script_writes_times_in_a_fixed_language() -> None:
    fixed = re.compile(r"(?:DateTimeFormat|RelativeTimeFormat|toLocale\w*(?:Date|Time)\w*)\(\"")
    scripts = sorted((PROJECT / "webui/static/js").glob("*.js"))

    assert [path.name for path in scripts if fixed.search(path.read_text("utf-8"))] == []


def test_a_message_equals_its_english_text_and_can_be_translated() -> None:
    inner = Message("%(number)s units", number="1,000")
    message = Message("at least %(least)s: %(name)s", least=inner, name="open")
    german = {
        "%(number)s units": "%(number)s Stück",
        "at least %(least)s: %(name)s": "%(name)s, ab %(least)s",
    }

    def in_german(one: str, many: str = "", number: int = 1) -> str:
        assert (many, number) == ("", 1)
        return german.get(one, one)

    assert message == "at least 1,000 units: open"
    assert translated(message, in_german) == "open, ab 1,000 Stück"
    assert translated(joined([inner, "x"]), in_german) == "1,000 Stück, x"
    assert copy.deepcopy(message).values == message.values


def test_a_counted_message_has_the_form_of_its_number_in_each_language() -> None:
    def in_german(one: str, many: str = "", number: int = 1) -> str:
        german = {"%(number)s record": ("%(number)s Satz", "%(number)s Sätze")}
        return german[one][number != 1] if many else f"({one})"

    numbers = {number: counted(number, "record") for number in (0, 1, 2, 1_200)}
    message = Message("%(records)s wait", records=numbers[1])

    assert [*numbers.values()] == ["0 records", "1 record", "2 records", "1,200 records"]
    assert translated(numbers[1], in_german) == "1 Satz"
    assert translated(numbers[1_200], in_german) == "1,200 Sätze"
    assert translated(message, in_german) == "(1 Satz wait)"
    assert counted(-1, "unit", "−1") == "−1 unit"
    assert copy.deepcopy(numbers[2]).one == "%(number)s record"


def test_a_pseudo_text_keeps_values_and_tags() -> None:
    assert pseudo('%(n)s <a href="%(u)s">use</a> 5 %%') == '⟦%(n)s <a href="%(u)s">ûšé</a> 5 %%~~~⟧'


def names_of_lines() -> set[str]:
    """Return the names that the modules of `inventory.explain` give to lines."""
    calls = [
        node
        for path in (PROJECT / "inventory/explain").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in LINES
    ]
    firsts = [call.args[0] for call in calls]
    return {str(first.value) for first in firsts if isinstance(first, ast.Constant)}


def test_every_line_of_an_explanation_has_a_label_in_the_catalogues() -> None:
    names = names_of_lines()

    assert "packed_units" in names
    assert {name for name in names if formatting.label(note(name, 1)) not in WORDS} == set()


def logged_actions() -> set[str]:
    """Return the actions that modules write as literals into the audit log."""
    paths = [path for package in ("ledger", "webui") for path in (PROJECT / package).rglob("*.py")]
    calls = [
        node
        for path in paths
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", getattr(node.func, "id", "")) in LOGS
    ]
    named = [one.value for call in calls for one in call.keywords if one.arg == "action"]
    found = [*named, *(call.args[0] for call in calls if call.args)]
    return {str(one.value) for one in found if isinstance(one, ast.Constant)}


def test_every_action_of_the_audit_log_is_in_the_catalogues() -> None:
    actions = logged_actions()

    assert {"send_order", "plan_transfer", "login", "price_kill_switch"} <= actions
    # `webui.readmodel.logged` has the translated name of this action.
    assert actions - {*ACTIONS} == {"price_kill_switch"}

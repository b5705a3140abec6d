"""Message ids of the sources: of templates, of Python modules and of scripts.

Templates and Python modules mark message ids with Django's functions, like `gettext`. In Python,
the rule of a refusal and the text of a `Conflict` are message ids as well. Pages translate both
when they show them.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.utils.translation.template import templatize

from webui.translation.words import WORDS

# Functions with the position of the message id in their arguments, counted from 0.
_SINGULAR: Final = {
    **dict.fromkeys(("gettext", "gettext_noop", "gettext_lazy", "Message", "translate"), 0),
    "refuse": 2,
    "ServiceError": 2,
    "Conflict": 0,
    "FormReused": 0,
}
_PLURAL: Final = frozenset({"ngettext", "plural_noop", "Counted"})
_RULE: Final = "rule"
# Calls in the output of `templatize` for a template: a text with its plural, or a text alone.
_OF_TEMPLATE: Final = re.compile(
    r"""(?<![\w.])(?:ngettext\(\s*(u?'(?:[^'\\]|\\.)*'|u?"(?:[^"\\]|\\.)*"),
        \s*(u?'(?:[^'\\]|\\.)*'|u?"(?:[^"\\]|\\.)*")
        |(?:gettext|_)\(\s*(u?'(?:[^'\\]|\\.)*'|u?"(?:[^"\\]|\\.)*"))""",
    re.DOTALL | re.VERBOSE,
)
_OF_SCRIPT: Final = re.compile(
    r"""(?<![\w.])(?:counted\(\s*("(?:[^"\\]|\\.)*"),\s*("(?:[^"\\]|\\.)*")
        |text\(\s*("(?:[^"\\]|\\.)*"))""",
    re.DOTALL | re.VERBOSE,
)


@dataclass(frozen=True, slots=True, order=True)
class Found:
    """A message id, its plural or "", and the file that has it."""

    id: str
    plural: str
    path: str


def of_template(text: str, path: str = "") -> Iterator[Found]:
    """Yield the message ids of a template."""
    for one, many, only in _OF_TEMPLATE.findall(templatize(text)):
        yield Found(ast.literal_eval(one or only), ast.literal_eval(many) if many else "", path)


def of_script(text: str, path: str = "") -> Iterator[Found]:
    """Yield the message ids of a script: argument 1 of `text`, arguments 1 and 2 of `counted`."""
    for one, many, only in _OF_SCRIPT.findall(text):
        yield Found(ast.literal_eval(one or only), ast.literal_eval(many) if many else "", path)


def of_module(text: str, path: str = "") -> Iterator[Found]:
    """Yield the message ids of a Python module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            yield from (Found(one, many, path) for one, many in _of_call(node))


def _of_call(call: ast.Call) -> Iterator[tuple[str, str]]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)
    place = _SINGULAR.get(name)
    if place is not None and len(call.args) > place:
        yield from ((text, "") for text in _literals(call.args[place]))
    if name in _PLURAL:
        first, second = call.args[:2]
        yield from zip(_literals(first), _literals(second), strict=True)
    for keyword in call.keywords:
        if keyword.arg == _RULE:
            yield from ((text, "") for text in _literals(keyword.value))


def _literals(node: ast.expr) -> Iterator[str]:
    """Yield a string literal, or both string literals of a conditional expression."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _literals(node.body)
        yield from _literals(node.orelse)


def of_pages(project: Path) -> set[Found]:
    """Return the message ids of templates and Python modules: the domain `django`."""
    found: set[Found] = set()
    for path in sorted((project / "webui/templates").rglob("*.html")):
        found |= {*of_template(path.read_text(encoding="utf-8"), str(path.relative_to(project)))}
    for package in ("webui", "ledger"):
        for path in sorted((project / package).rglob("*.py")):
            found |= {*of_module(path.read_text(encoding="utf-8"), str(path.relative_to(project)))}
    found |= {Found(word, "", "webui/translation/words.py") for word in WORDS}
    return {one for one in found if one.id}


def of_scripts(project: Path) -> set[Found]:
    """Return the message ids of scripts: the domain `djangojs`."""
    found: set[Found] = set()
    for path in sorted((project / "webui/static/js").glob("*.js")):
        found |= {*of_script(path.read_text(encoding="utf-8"), str(path.relative_to(project)))}
    return found

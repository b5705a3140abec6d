"""Texts in the person's language: messages from Python, codes, and texts of scripts."""

import re
from functools import cache
from typing import Final

from django import template
from django.conf import settings
from django.utils.html import json_script
from django.utils.translation import get_language
from django.utils.translation.trans_real import DjangoTranslation
from django.views.i18n import JavaScriptCatalog

from ledger.messages import translated
from webui.shell.refusals import named
from webui.translation.messages import translate

register = template.Library()

_CODE: Final = re.compile(r"[a-z0-9_.-]+")


@register.filter(name="translated")
def _translated(text: str | None) -> str:
    """Return a translatable text or `Message` in the page's language; an empty text for None."""
    return translated(text or "", translate)


@register.filter
def reason(text: str) -> str:
    """Return the reason of a refusal in the page's language, with names in the place of codes."""
    return translated(named(text), translate)


@register.filter
def words(code: str | None) -> str:
    """Return a code as words: `cover_over_guard` as `cover over guard`, or their translation.

    A reason may be a code or a person's text. A text that can't be a code stays unchanged.
    """
    code = code or ""
    return translated(code.replace("_", " ") if _CODE.fullmatch(code) else code, translate)


@register.filter
def parts(command: str) -> list[str]:
    """Return the words of a command and the white space between them, in their order."""
    return re.split(r"(\s+)", command)


@register.simple_tag
def script_texts() -> str:
    """Return a `<script>` element with the translated texts of scripts, as JSON.

    Return an empty text in the language of the sources, which needs no translation.
    """
    found = _of_scripts(get_language() or settings.LANGUAGE_CODE, tuple(settings.LOCALE_PATHS))
    return json_script(found, "texts") if found else ""


@cache
def _of_scripts(language: str, folders: tuple[str, ...]) -> dict[str, str | list[str]]:
    """Return the texts of scripts by message id; a plural has the texts of both forms."""
    if language == settings.LANGUAGE_CODE:
        return {}
    view = JavaScriptCatalog()
    view.translation = DjangoTranslation(language, "djangojs", [*folders])
    found: dict[str, str | list[str]] = view.get_catalog()
    return {key: text for key, text in found.items() if key}

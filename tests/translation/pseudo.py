"""A language for tests: each message in brackets, with accents and longer by about a third.

A text of a page that isn't in brackets didn't go through gettext.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from deploy.stack.home import PROJECT
from webui.translation.catalogues import mo_bytes
from webui.translation.po import Entry
from webui.translation.sources import Found, of_pages, of_scripts

CODE, FOLDER = "en-xa", "en_XA"
HEADER = "Content-Type: text/plain; charset=UTF-8\nPlural-Forms: nplurals=2; plural=(n != 1);\n"
OPEN, CLOSE = "⟦", "⟧"
ACCENTS = str.maketrans("aeiouyAEIOUcnsCNS", "àéîöûýÀÉÎÖÛçñšÇÑŠ")
# Placeholders, per cent signs, tags of HTML and its entities stay as they are.
_KEPT = re.compile(r"(%(?:\(\w+\))?[sd]|%%|\{\w+\}|<[^>]*>|&\w+;)")


def pseudo(text: str) -> str:
    """Return a message in the pseudo-language."""
    parts = _KEPT.split(text)
    accented = "".join(part if at % 2 else part.translate(ACCENTS) for at, part in enumerate(parts))
    letters = sum(len(part) for part in parts[::2])
    return f"{OPEN}{accented}{'~' * -(-letters * 3 // 10)}{CLOSE}"


def _entry(one: Found) -> Entry:
    texts = (one.id, one.plural) if one.plural else (one.id,)
    return Entry(one.id, one.plural, tuple(pseudo(text) for text in texts))


def _of_django() -> Iterator[Entry]:
    """Yield Django's own messages, such as the errors of its password rules."""
    trans_real = import_module("django.utils.translation.trans_real")
    for catalogue in trans_real.DjangoTranslation("de")._catalog._catalogs:
        for key in catalogue:
            if isinstance(key, str) and key:
                yield Entry(key, "", (pseudo(key),))


def write_catalogues(locale: Path) -> None:
    """Write the catalogues of the pseudo-language below `locale`."""
    folder = locale / FOLDER / "LC_MESSAGES"
    folder.mkdir(parents=True)
    pages = sorted(of_pages(PROJECT))
    ours = {one.id: _entry(one) for one in pages if not one.plural}
    plurals = [_entry(one) for one in pages if one.plural]
    ours = {key: entry for key, entry in ours.items() if key not in {one.id for one in plurals}}
    entries = {entry.id: entry for entry in _of_django()} | ours
    taken = {entry.id for entry in plurals}
    singles = [entry for key, entry in entries.items() if key not in taken]
    (folder / "django.mo").write_bytes(mo_bytes(HEADER, [*singles, *plurals]))
    scripts = [_entry(one) for one in of_scripts(PROJECT)]
    (folder / "djangojs.mo").write_bytes(mo_bytes(HEADER, scripts))


@contextmanager
def pseudo_language(locale: Path) -> Iterator[None]:
    """Offer the pseudo-language, whose catalogues are below `locale`."""
    settings = import_module("django.conf").settings
    override_settings = import_module("django.test").override_settings
    languages = (*settings.LANGUAGES, (CODE, "Pseudo"))
    with override_settings(LANGUAGES=languages, LOCALE_PATHS=[*settings.LOCALE_PATHS, locale]):
        yield

"""The texts of a page that people see or hear.

Tests translate a page into a pseudo language that puts each message into brackets. `outside`
returns the texts that weren't translated.
"""

import re
from collections.abc import Iterator
from html.parser import HTMLParser

from typing_extensions import override

from tests.translation.pseudo import CLOSE, OPEN

ATTRIBUTES = ("title", "aria-label", "placeholder", "alt", "data-label")
# Elements with commands, keys, SQL and typed texts, which are equal in each language.
SKIPPED = {"script", "style", "code", "kbd", "pre", "textarea"}
WITHOUT_END = {"input", "br", "img", "meta", "link", "hr", "use", "path", "rect", "source", "col"}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._open: list[str] = []

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.texts += [value for name, value in attrs if name in ATTRIBUTES and value]
        if tag not in WITHOUT_END:
            self._open.append(tag)

    @override
    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.texts += [value for name, value in attrs if name in ATTRIBUTES and value]

    @override
    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            del self._open[len(self._open) - 1 - self._open[::-1].index(tag) :]

    @override
    def handle_data(self, data: str) -> None:
        if not SKIPPED & {*self._open}:
            self.texts.append(data)


def visible(page: str) -> Iterator[str]:
    """Yield the texts of a page, in their order. A message with tags has several texts."""
    reader = _Reader()
    reader.feed(page)
    yield from reader.texts


def outside(texts: Iterator[str]) -> Iterator[str]:
    """Yield the parts of `texts` that aren't in brackets.

    A message with tags has several texts: the first opens the bracket, the last closes it.
    """
    depth = 0
    for text in texts:
        rest = ""
        for sign in text:
            depth += (sign == OPEN) - (sign == CLOSE)
            if depth == 0 and sign != CLOSE:
                rest += sign
        if re.search(r"[^\W\d_]{2}", rest):
            yield rest.strip()

"""Parser of the documentation pages: links, headings, code blocks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from typing_extensions import override

from deploy.stack.home import PROJECT

_BLOCK = re.compile(r"^ *```(\S*)[^\n]*\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
FOLDERS = ("docs", "bench/results")
_HEADING = re.compile(r"^#+ +(.+?) *#*$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """Fenced code block: page, first line, language and text."""

    page: str
    line: int
    language: str
    text: str

    @override
    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@cache
def pages() -> tuple[Path, ...]:
    folders = PROJECT.glob("*.md"), *(PROJECT.joinpath(f).rglob("*.md") for f in FOLDERS)
    return tuple(page for found in folders for page in sorted(found))


def name(page: Path) -> str:
    return str(page.relative_to(PROJECT))


@cache
def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path) -> Iterator[Block]:
    text = text_of(page)
    for found in _BLOCK.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        yield Block(name(page), line, found[1], found[2])


def prose(page: Path) -> str:
    """Return the page without its fenced code."""
    return _BLOCK.sub("", text_of(page))


def inline_code(page: Path) -> list[str]:
    return [" ".join(code.split()) for code in _INLINE.findall(prose(page))]


def links(page: Path) -> list[str]:
    return _LINK.findall(_INLINE.sub("", prose(page)))


def anchors(page: Path) -> set[str]:
    """Return the link anchors of a page: each heading in lower case, joined by hyphens."""
    plain = (heading.replace("`", "").lower() for heading in _HEADING.findall(prose(page)))
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


def commands(page: Path) -> list[str]:
    """Return the lines of shell blocks without prompt and comment, and all inline code."""
    lines = [
        re.sub(r"^\$ ", "", line.strip())
        for block in blocks(page)
        if block.language in {"sh", "console"}
        for line in block.text.replace("\\\n", " ").splitlines()
        if block.language == "sh" or line.strip().startswith("$ ")
    ]
    return [re.sub(r"(^|\s)#.*", "", line).strip() for line in lines] + inline_code(page)

"""Catalogues as text: read and write the part of the PO format that this project uses.

Each entry has one message id, an optional plural, and its texts. References, flags and obsolete
entries aren't kept, so a catalogue changes only if a message changes.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

_LINE: Final = re.compile(r'(?:(?P<key>msgid_plural|msgid|msgstr(?:\[\d\])?) )?(?P<text>".*")')
_WIDTH: Final = 96


@dataclass(frozen=True, slots=True)
class Entry:
    """One message: its id, the id of its plural or "", and its texts by plural form."""

    id: str
    plural: str = ""
    texts: tuple[str, ...] = field(default=())

    @property
    def is_translated(self) -> bool:
        """Return True if every plural form has a text."""
        return len(self.texts) == (2 if self.plural else 1) and all(self.texts)


def read_po(text: str) -> tuple[str, list[Entry]]:
    """Return the header and the entries of a catalogue; raise `ValueError` if a line isn't PO."""
    entries = list(_entries(text))
    if not entries or entries[0].id:
        message = "a catalogue begins with its header, whose message id is empty"
        raise ValueError(message)
    return entries[0].texts[0], entries[1:]


def _entries(text: str) -> Iterator[Entry]:
    parts: dict[str, str] = {}
    key = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if not line or line.startswith("#"):
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            message = f"line {number}: msgid, msgid_plural, msgstr or a quoted text, got {line!r}"
            raise ValueError(message)
        if found["key"] == "msgid" and parts:
            yield _entry(parts)
            parts = {}
        key = found["key"] or key
        parts[key] = parts.get(key, "") + ast.literal_eval(found["text"])
    if parts:
        yield _entry(parts)


def _entry(parts: dict[str, str]) -> Entry:
    texts = tuple(text for key, text in parts.items() if key.startswith("msgstr"))
    return Entry(parts["msgid"], parts.get("msgid_plural", ""), texts)


def write_po(header: str, entries: Iterable[Entry]) -> str:
    """Return the text of a catalogue. Its entries are in the order of their ids."""
    blocks = [_block(Entry("", "", (header,)))]
    blocks += [_block(entry) for entry in sorted(entries, key=lambda entry: entry.id)]
    return "\n".join(blocks)


def _block(entry: Entry) -> str:
    lines = [f"msgid {_quoted(entry.id)}"]
    if entry.plural:
        lines.append(f"msgid_plural {_quoted(entry.plural)}")
        texts = entry.texts or ("", "")
        lines += [f"msgstr[{form}] {_quoted(text)}" for form, text in enumerate(texts)]
    else:
        lines.append(f"msgstr {_quoted(entry.texts[0] if entry.texts else '')}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Return a text in quotes; a long text has several lines, cut after blanks."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    if len(escaped) <= _WIDTH - 8:
        return f'"{escaped}"' if not text.endswith("\n") else _rows(escaped.split("\\n"), "\\n")
    return _rows(_cut(escaped), "")


def _rows(rows: list[str], end: str) -> str:
    kept = [f"{row}{end}" for row in rows if row]
    return "\n".join(['""', *(f'"{row}"' for row in kept)])


def _cut(text: str) -> list[str]:
    rows, row = [], ""
    for word in re.findall(r"\S*\s*(?:\\n)*", text):
        if row and len(row) + len(word) > _WIDTH:
            rows.append(row)
            row = ""
        row += word
    return [*rows, row]

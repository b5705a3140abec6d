"""Compiled catalogues: the `.mo` files that `gettext` reads, made from the `.po` files.

Loading the settings compiles each catalogue whose `.mo` file is missing or older than its `.po`
file. So the program `msgfmt` isn't needed. If a process may not write a missing file, its pages are
in English.
"""

import os
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from webui.translation.po import Entry, read_po

_MAGIC: Final = 0x950412DE
_ROW: Final = struct.Struct("<II")
_HEAD: Final = struct.Struct("<7I")


def compile_catalogues(locale: Path) -> None:
    """Compile each `.po` file below `locale` whose `.mo` file is missing or older."""
    for source in sorted(locale.glob("*/LC_MESSAGES/*.po")):
        target = source.with_suffix(".mo")
        if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
            _compile(source, target)


def _compile(source: Path, target: Path) -> None:
    header, entries = read_po(source.read_text(encoding="utf-8"))
    partial = target.with_name(f"{target.name}.{os.getpid()}")
    try:
        partial.write_bytes(mo_bytes(header, entries))
        partial.replace(target)
    except OSError:
        partial.unlink(missing_ok=True)


def mo_bytes(header: str, entries: Iterable[Entry]) -> bytes:
    """Return a catalogue in the format of `.mo` files, without entries that lack a text."""
    rows = {"": header} | {
        entry.id + (f"\0{entry.plural}" if entry.plural else ""): "\0".join(entry.texts)
        for entry in entries
        if entry.is_translated
    }
    ids = sorted((key.encode(), text.encode()) for key, text in rows.items())
    count = len(ids)
    texts_at = _HEAD.size + count * _ROW.size
    strings_at = texts_at + count * _ROW.size
    tables, strings = b"", b""
    for column in (0, 1):
        for row in ids:
            tables += _ROW.pack(len(row[column]), strings_at + len(strings))
            strings += row[column] + b"\0"
    head = _HEAD.pack(_MAGIC, 0, count, _HEAD.size, texts_at, 0, strings_at)
    return head + tables + strings

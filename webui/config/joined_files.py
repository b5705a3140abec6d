"""Join a script or style sheet with the files that it imports, so that a page takes few requests.

The sources stay valid: a browser could load `js/app.js` and its modules without joining. Joining
keeps each line, so the joined script reads like its sources. The source map has the module and line
of each joined line. The sources may only use the forms of import and export that match the patterns
below.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_IMPORT: Final = re.compile(r'import \{ (\w+(?:, \w+)*) \} from "\./([\w-]+\.js)";')
_EXPORT: Final = re.compile(r"export ((?:async function|function|class|const) (\w+).*)")
_EITHER: Final = re.compile(r"(?:import|export)\b")
_STYLE_IMPORT: Final = re.compile(r'@import "([\w./-]+\.css)";')
_DIGITS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


class NotJoinable(ValueError):
    """A source has an import, export or URL that can't be joined; the message names its line."""


@dataclass(frozen=True, slots=True)
class Script:
    """A joined script and its source map (revision 3, as JSON)."""

    text: str
    source_map: str


@dataclass(slots=True)
class _Lines:
    """Lines of a joined script. Their origins are (module, number of the line there, from 0).

    A line that joining adds has the origin None.
    """

    texts: list[str] = field(default_factory=list)
    origins: list[tuple[str, int] | None] = field(default_factory=list)

    def add(self, text: str, origin: tuple[str, int] | None = None) -> None:
        self.texts.append(text)
        self.origins.append(origin)


def join_script(entry: Path) -> Script:
    """Return `entry` joined with all modules that it imports, directly or through other modules.

    Each module becomes a function, which returns the exports of the module and hides its other
    names. The functions of imported modules come first.

    Raises:
        NotJoinable: modules import each other in a circle, or an import or export has a form that
            can't be joined.
    """
    sources: dict[str, str] = {}
    _read(entry, sources, ())
    lines = _Lines()
    lines.add("const modules = {};")
    for name, text in sources.items():
        _add_module(name, text, lines)
    lines.add(f"//# sourceMappingURL={entry.name}.map")
    return Script("\n".join([*lines.texts, ""]), _source_map(entry.name, sources, lines.origins))


def join_style(path: Path) -> str:
    """Return a style sheet with each `@import` replaced by the imported file.

    Raises:
        NotJoinable: an import has a form that can't be joined, or a file has a `url(…)`. The joined
            style sheet can be in another directory than the file, so a relative URL would change
            its meaning.
    """
    lines: list[str] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if found := _STYLE_IMPORT.fullmatch(line):
            lines += [f"/* {found[1]} */", join_style(path.parent / found[1])]
        elif line.startswith("@import") or "url(" in line:
            raise _refused(path, number, line)
        else:
            lines.append(line)
    return "\n".join(lines)


def _read(path: Path, sources: dict[str, str], importers: tuple[str, ...]) -> None:
    """Add {name: text} to `sources`: first the modules that `path` imports, then `path` itself.

    `importers` are the modules whose imports lead to `path`, to find a circle.
    """
    if path.name in importers:
        problem = f"modules import each other: {' imports '.join([*importers, path.name])}"
        raise NotJoinable(problem)
    if path.name in sources:
        return
    text = path.read_text(encoding="utf-8")
    for line in text.splitlines():
        if found := _IMPORT.fullmatch(line):
            _read(path.with_name(found[2]), sources, (*importers, path.name))
    sources[path.name] = text


def _add_module(name: str, text: str, lines: _Lines) -> None:
    exports = []
    lines.add(f'modules["{name}"] = (() => {{')
    for number, line in enumerate(text.splitlines()):
        shown = line
        if found := _IMPORT.fullmatch(line):
            shown = f'const {{ {found[1]} }} = modules["{found[2]}"];'
        elif found := _EXPORT.fullmatch(line):
            shown = found[1]
            exports.append(found[2])
        elif _EITHER.match(line):
            raise _refused(Path(name), number + 1, line)
        lines.add(shown, (name, number))
    lines.add(f"return {{ {', '.join(exports)} }};")
    lines.add("})();")


def _refused(path: Path, number: int, line: str) -> NotJoinable:
    return NotJoinable(f"{path.name}, line {number}: this form can't be joined: {line}")


def _source_map(file: str, sources: dict[str, str], origins: list[tuple[str, int] | None]) -> str:
    """Return the source map as JSON. For each joined line, it has a module and the line there."""
    return json.dumps(
        {
            "version": 3,
            "file": file,
            # This directory exists only in the map. Without it, the entry module would have the URL
            # of the joined file.
            "sourceRoot": "modules",
            "sources": list(sources),
            "sourcesContent": list(sources.values()),
            "mappings": ";".join(_mappings(list(sources), origins)),
        }
    )


def _mappings(sources: list[str], origins: list[tuple[str, int] | None]) -> Iterator[str]:
    """Yield the segment of each joined line, or "" for a line without a module.

    A segment has the column in the joined line, the module, and line and column in the module.
    Module and line are differences from the segment before. Both columns are always 0.
    """
    last = (0, 0)
    for origin in origins:
        if origin is None:
            yield ""
            continue
        here = (sources.index(origin[0]), origin[1])
        yield "".join(map(_digits, (0, here[0] - last[0], here[1] - last[1], 0)))
        last = here


def _digits(number: int) -> str:
    """Return a number as a Base64 VLQ of the source map format.

    Each digit has 5 bits, the lowest bits first. The lowest bit of the first digit is the sign.
    """
    rest = number << 1 if number >= 0 else -number << 1 | 1
    text = ""
    while rest >= 32:  # noqa: PLR2004 -- 5 bits
        text += _DIGITS[rest & 31 | 32]
        rest >>= 5
    return text + _DIGITS[rest]

"""Update every catalogue: `python -m webui.translation`.

The program adds new message ids with an empty text, and deletes unused ids. A person then writes
the missing texts: a test fails while one is empty.
"""

import sys
from collections.abc import Collection
from pathlib import Path
from typing import Final

from webui.translation.po import Entry, read_po, write_po
from webui.translation.sources import Found, of_pages, of_scripts

PROJECT: Final = Path(__file__).parents[2]
_HEADER: Final = (
    "Content-Type: text/plain; charset=UTF-8\nPlural-Forms: nplurals=2; plural=(n != 1);\n"
)


def updated(text: str, found: Collection[Found]) -> str:
    """Return the catalogue `text` with exactly the message ids `found`; keep their texts."""
    header, entries = read_po(text) if text else (_HEADER, [])
    had = {(entry.id, entry.plural): entry.texts for entry in entries}
    wanted = dict.fromkeys((one.id, one.plural) for one in sorted(found))
    # `gettext` finds an entry with a plural by its singular, too. So an id that is also used
    # without a plural needs no second entry.
    plurals = {one for one, many in wanted if many}
    kept = [key for key in wanted if key[1] or key[0] not in plurals]
    return write_po(header, [Entry(*key, had.get(key, ())) for key in kept])


def main() -> int:
    """Write the catalogues of all languages, and print the number of texts that are missing."""
    for domain, found in (("django", of_pages(PROJECT)), ("djangojs", of_scripts(PROJECT))):
        for folder in sorted((PROJECT / "webui/locale").glob("*/LC_MESSAGES")):
            path = folder / f"{domain}.po"
            before = path.read_text(encoding="utf-8") if path.exists() else ""
            path.write_text(after := updated(before, found), encoding="utf-8")
            missing = sum(not entry.is_translated for entry in read_po(after)[1])
            sys.stdout.write(f"{path.relative_to(PROJECT)}: {missing} texts are missing\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

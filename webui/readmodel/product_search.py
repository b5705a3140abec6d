"""Search of products by words (decision 0046 and migration `0005_product_search`).

Each word of a query must be part of a word in code or name. The part may begin at the first letter
of the word, or at any other letter except the last two. For example, `ket`, `tt` and `tle` find
`kettle`, and `le` doesn't.

A search with `similar` also finds names with a word that differs from a word of the query in one
letter. Both words must have four letters or more and no digit.
"""

import unicodedata
from dataclasses import dataclass
from typing import Any, Final

from ledger.kernel.rows import select

MOST_WORDS: Final = 6
LONGEST_WORD: Final = 40
_EXACT: Final = "retail.search_terms(p.code, p.name) @@ {word}::tsquery"
_SIMILAR: Final = f"({_EXACT} OR retail.search_shapes(p.name) && retail.word_shapes({{plain}}))"


@dataclass(frozen=True, slots=True)
class Found:
    """A product that matches a query."""

    sku: str
    name: str
    department: str


def words_of(text: str) -> list[str]:
    """Return the first 6 different words of a query, split as `retail.search_words` splits a name.

    The words are in lower case and without accents, and have at most 40 characters.
    """
    letters = unicodedata.normalize("NFKD", text.lower())
    kept = (letter for letter in letters if not "\u0300" <= letter <= "\u036f")
    spaced = "".join(letter if letter.isalnum() else " " for letter in kept)
    return [word[:LONGEST_WORD] for word in dict.fromkeys(spaced.split())][:MOST_WORDS]


def product_condition(words: list[str], *, similar: bool = False) -> tuple[str, dict[str, Any]]:
    """Return (SQL condition for the rows `p` of `retail.product` that match `words`, parameters).

    `words` come from `words_of`, so they need no escaping. Without words, the condition is false.
    """
    template = _SIMILAR if similar else _EXACT
    parts: list[str] = []
    parameters: dict[str, Any] = {}
    for number, word in enumerate(words):
        parts.append(template.format(word=f"%(term{number})s", plain=f"%(plain{number})s"))
        parameters |= {f"term{number}": f"'{word}':*", f"plain{number}": word}
    return " AND ".join(parts) or "false", parameters


_PRODUCTS: Final = """
SELECT p.code AS sku, p.name, p.department FROM retail.product p WHERE {condition}
ORDER BY upper(p.code) <> upper(%(text)s), lower(p.name) NOT LIKE lower(%(begins)s), p.name, p.code
LIMIT %(most)s
"""


def find_products(text: str, *, most: int, similar: bool = False) -> list[Found]:
    """Return up to `most` matches: the SKU `text`, then names that begin with it, then others."""
    return select(*products_query(text, most=most, similar=similar), Found)


def products_query(text: str, *, most: int, similar: bool = False) -> tuple[str, dict[str, Any]]:
    """Return the SQL of `find_products`, and its parameters."""
    condition, parameters = product_condition(words_of(text), similar=similar)
    parameters |= {"text": text, "begins": f"{literal(text)}%", "most": most}
    return _PRODUCTS.format(condition=condition), parameters


def literal(text: str) -> str:
    """Return the text with the wildcards of LIKE escaped."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")

"""The order of names in lists: as in a dictionary, on every machine.

Postgres compares texts by the numbers of their characters (`deploy.stack.services.postgres`). So
`Zebra` would come before `apple`, and `Äpfel` after both.
"""


def alphabetic(name: str) -> str:
    """Return the SQL of a text by which names are sorted; `name` is the SQL of a name.

    The text has no accents and no capital letters, and `ss` for `ß`. It has at most 200 characters,
    so that it fits in the URL of a page. Words for the search lose their accents by the same rule
    (`retail.search_words`, `webui.readmodel.product_search.words_of`).

    ASCII texts, in which each character is one byte, have no accents. So they skip the removal,
    which takes three quarters of the time. A row evaluates `name` up to three times.
    """
    plain = rf"regexp_replace(normalize({name}, NFKD), '[\u0300-\u036f]', '', 'g')"
    folded = f"replace(lower({plain}), 'ß', 'ss')"
    is_ascii = f"octet_length({name}) = length({name})"
    return f"left(CASE WHEN {is_ascii} THEN lower({name}) ELSE {folded} END, 200)"

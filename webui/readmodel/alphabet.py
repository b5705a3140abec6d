"""The order of names in lists: as in a dictionary, on every machine.

Postgres compares texts by the numbers of their characters (`deploy.stack.services.postgres`). So
`Zebra` would come before `apple`, and `Äpfel` after both.
"""


def alphabetic(name: str) -> str:
    """Return the SQL of a text by which names are sorted; `name` is the SQL of a name.

    The text has no accents and no capital letters, and `ss` for `ß`. It has at most 200 characters,
    so that it fits in the URL of a page.
    """
    plain = rf"regexp_replace(normalize({name}, NFKD), '[\u0300-\u036f]', '', 'g')"
    return f"left(replace(lower({plain}), 'ß', 'ss'), 200)"

"""SQL that sorts names in lists as a dictionary does, on every machine.

Postgres compares texts by the code points of their characters, because its locale is C.UTF-8
(`deploy.stack.services.postgres`). So `Zebra` would come before `apple`, and `Äpfel` after both.
"""


def alphabetic(name: str) -> str:
    """Return an SQL expression by whose value lists sort names; `name` is the SQL of a name.

    The value is the name in lower case, without accents, and with `ss` for `ß`. It has at most
    200 characters, so that it fits in the URL of a page. The search removes accents by the same
    rule (`retail.search_words`, `webui.readmodel.product_search.words_of`).

    The expression skips this removal for ASCII texts, in which each character is one byte. The
    removal would take three quarters of the time of a sort. For each row, Postgres evaluates `name`
    up to three times.
    """
    plain = rf"regexp_replace(normalize({name}, NFKD), '[\u0300-\u036f]', '', 'g')"
    folded = f"replace(lower({plain}), 'ß', 'ss')"
    is_ascii = f"octet_length({name}) = length({name})"
    return f"left(CASE WHEN {is_ascii} THEN lower({name}) ELSE {folded} END, 200)"

"""Search of products by the beginning of a word, a part of a word, and with one wrong letter.

`search_terms` has the words of a product's code and name, and their suffixes of three or more
letters. So `kessel` finds `teekessel`. A query searches for the beginning of a term.
`search_shapes` has each word of the name, and each word without one of its letters. Two words that
differ by one letter, or by two neighbouring letters in exchanged order, have a shape in common.
For example, `kettle` and `ketle` have the shape `ketle`. Words with digits have no shapes,
because a code with another digit is another product. Words of fewer than four letters have none
either.

Postgres' extension `pg_trgm` is missing in the Postgres that the local stack installs. On a
company's own server, this application may not have the right to install it (decision 0046).
"""

from django.db import migrations

FORWARD = r"""
CREATE FUNCTION retail.search_words(given text) RETURNS text[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT coalesce(array_agg(DISTINCT left(word, 40)), '{}')
    FROM regexp_split_to_table(
        regexp_replace(lower(normalize(given, NFKD)), '[\u0300-\u036f]', '', 'g'),
        '[^[:alnum:]]+') AS word
    WHERE word <> ''
$$;
CREATE FUNCTION retail.search_terms(code text, name text) RETURNS tsvector
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT array_to_tsvector(ARRAY(
        SELECT DISTINCT substr(word, first)
        FROM unnest(retail.search_words(code || ' ' || name)
                    || retail.search_words(regexp_replace(code, '[^[:alnum:]]', '', 'g'))) AS word,
             generate_series(1, greatest(1, length(word) - 2)) AS first))
$$;
CREATE FUNCTION retail.word_shapes(word text) RETURNS text[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT ARRAY(
        SELECT word WHERE word ~ '^[^0-9]{4,}$'
        UNION
        SELECT overlay(word PLACING '' FROM place FOR 1)
        FROM generate_series(1, length(word)) AS place WHERE word ~ '^[^0-9]{4,}$')
$$;
CREATE FUNCTION retail.search_shapes(name text) RETURNS text[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT ARRAY(
        SELECT DISTINCT shape
        FROM unnest(retail.search_words(name)) AS word, unnest(retail.word_shapes(word)) AS shape)
$$;
CREATE INDEX product_terms ON retail.product USING gin (retail.search_terms(code, name));
CREATE INDEX product_shapes ON retail.product USING gin (retail.search_shapes(name));
"""

REVERSE = """
DROP INDEX retail.product_shapes;
DROP INDEX retail.product_terms;
DROP FUNCTION retail.search_shapes(text);
DROP FUNCTION retail.word_shapes(text);
DROP FUNCTION retail.search_terms(text, text);
DROP FUNCTION retail.search_words(text);
"""


class Migration(migrations.Migration):
    dependencies = [("readmodel", "0004_capture"), ("ledger", "0025_reference_data")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]

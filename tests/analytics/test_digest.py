"""Digests depend on every value of the rows, but not on their order or their split into files."""

from hypothesis import given
from hypothesis import strategies as st

from analytics.digest import add, as_hex, from_hex, row_hash, total

ROWS = st.lists(st.tuples(st.binary(max_size=8), st.binary(max_size=8)), max_size=12)


@given(rows=ROWS, cut=st.integers(0, 12), seed=st.randoms())
def test_any_order_and_any_split_give_the_same_digest(rows, cut, seed) -> None:
    shuffled = list(rows)
    seed.shuffle(shuffled)

    whole = total(row_hash(*row) for row in rows)
    left = total(row_hash(*row) for row in shuffled[:cut])
    right = total(row_hash(*row) for row in shuffled[cut:])

    assert add(left, right) == whole
    assert from_hex(as_hex(whole)) == whole


def test_a_row_counted_twice_changes_the_digest() -> None:
    once = row_hash(b"a", b"1")

    assert total([once, once]) != total([once])
    assert total([once, once]) != 0


def test_the_row_hash_depends_on_field_borders_and_on_null_versus_empty() -> None:
    assert row_hash(b"ab", b"c") != row_hash(b"a", b"bc")
    assert row_hash(b"a", None) != row_hash(b"a", b"")

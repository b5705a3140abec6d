"""SQL accepts exactly the families of the rules; `test_limits` compares the limits of each."""

import re

import psycopg

from inventory.replenishment.families import FAMILIES

CHECKS = """
SELECT pg_get_constraintdef(c.oid) FROM pg_constraint c
WHERE c.conrelid = 'retail.item_location'::regclass AND c.contype = 'c'
  AND c.conkey = ARRAY[(SELECT a.attnum FROM pg_attribute a
    WHERE a.attrelid = c.conrelid AND a.attname = 'replenish_family')]
"""


def test_sql_check_constraint_lists_the_replenishment_families_in_order(
    till: psycopg.Connection,
) -> None:
    [(check,)] = till.execute(CHECKS).fetchall()

    assert re.findall(r"'(\w+)'", check) == [*FAMILIES]

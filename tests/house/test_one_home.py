"""Codes of families, signals, roles and tasks are literals in one module; others import them."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from inventory.pricing.signals import SIGNALS
from inventory.replenishment.families import FAMILIES
from ledger.access.roles import ROLES
from ledger.automation import conditions
from tests.house.domain_page import plain, table
from tests.house.sources import PACKAGES, name, parsed, python_files

KINDS = {kind.name for kind in conditions.KINDS}
# Names that are ordinary words of other things too are left out: the price mode `off`, the column
# `cover`, the state `idle`, the person `buyer` on an order, the schema `pricing`.
HOMES = {
    "inventory/replenishment/families.py": set(FAMILIES) - {"off", "cover"},
    "inventory/pricing/signals.py": set(SIGNALS) - {"idle", "restore"},
    "ledger/access/roles.py": {role.code for role in ROLES} - {"buyer", "pricing"},
    "ledger/tasks/kinds.py": KINDS,
}
# A reason code that has the same text as a kind of task.
ALSO = {("ledger/reorders/automatic.py", "pipeline_stale")}


def texts_equal_to(tree: ast.Module, names: set[str]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in names:
            yield node.value


@cache
def concepts_named_by(path: Path) -> frozenset[str]:
    return frozenset(texts_equal_to(parsed(path), set().union(*HOMES.values())))


@pytest.mark.parametrize("home", HOMES)
def test_a_code_is_a_literal_only_in_its_defining_module(home: str) -> None:
    # Leave migrations out. They are never changed, so they contain names as texts.
    others = [
        path
        for path in python_files(*PACKAGES)
        if name(path) != home and "migrations" not in path.parts
    ]

    found = {
        (name(path), text) for path in others for text in concepts_named_by(path) & HOMES[home]
    }

    assert found - ALSO == set(), (
        f"import the name from {home}; if the text means something else, choose another name,"
        " or add the text to the exceptions of HOMES"
    )


def test_a_planted_code_literal_is_detected() -> None:
    planted = ast.parse('if policy.replenish_family in ("RS", "RsS"): pass')

    assert len([*texts_equal_to(planted, set(FAMILIES))]) == 2


def test_the_domain_page_lists_the_price_signals_in_order() -> None:
    rows = [plain(row[0]).split(" ")[0] for row in table("6.1").rows]

    assert tuple(rows) == SIGNALS

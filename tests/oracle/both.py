"""Histories of one key, folded by the product and by the second model."""

import json
from typing import Any

import pytest

from cdc.contracts.history import fold_history
from tests.oracle.builders import History
from tests.oracle.generate import lines
from tests.oracle.partition import fold_lines

# The mark leaves runs of the model out of the coverage measurement.
MODEL = pytest.param(fold_lines, id="model", marks=pytest.mark.generated)
FOLDS = pytest.mark.parametrize("fold", [pytest.param(fold_history, id="product"), MODEL])
Row = dict[str, Any]


def folded(fold: Any, history: History) -> tuple[list[Row], dict[str, Row]]:
    """Return the lines that a fold prints for records, and its states by key."""
    found = [json.loads(line) for line in fold(iter(lines(history.records)))]
    records = [line for line in found if "verdict" in line]
    return records, {line["key"]: line["state"] for line in found if "state" in line}


def verdicts(fold: Any, history: History) -> list[str]:
    return [line["verdict"] for line in folded(fold, history)[0]]


def price(row_id: int, minor: int, when: int, **more: Any) -> Row:
    row = {"id": row_id, "effective_from": when, "price_minor": minor, "kind": "manual"}
    return {**row, "floor_minor": 0, "recorded_at": when, **more}

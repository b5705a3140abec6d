"""The items in the examples of the analyst page are items of the demo retailer."""

import re
from pathlib import Path

from bench.retailer.retailer import plan, size_named

PAGE = Path(__file__).parents[2] / "docs" / "roles" / "analyst.md"


def test_the_items_of_the_analyst_page_exist_on_the_demo() -> None:
    text = PAGE.read_text("utf-8").replace("\\|", "|")
    _items, keys = plan(1, size_named("demo"))
    known = {str(key.inv_key) for key in keys}

    named = set(re.findall(r"\b[A-Z]+-\d\|[A-Z]{3}-\d{4}\b", text))
    skus = set(re.findall(r"sku = '([A-Z]{3}-\d{4})'", text))

    assert len(named) > 3
    assert named <= known
    assert skus <= {key.partition("|")[2] for key in known}

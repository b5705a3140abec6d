"""Each permitted code has an address of its own, in which browsers and servers change nothing."""

from urllib.parse import unquote, urlsplit

import pytest
from django.contrib.admin.utils import quote
from django.urls import resolve, reverse

CODES = [
    *("S", ".", "..", "...", ".a", "a.b", "/", "//", "/x", "x/", "a/../b", "./x", "x/change"),
    *("~", "~2F", "~2f", "~~2F", "~2", "~/", "~2E~2E", "~7E2F", "%2E%2E", "%2F", "a b?c#d é%"),
    *("change", "terms", "policy", "add", "x\\y", "x;y", "x&y=z", "_2F", '"<>'),
]
SKU_PAGES = ["item", "prices-item", "prices-item-change", "api-getStock", "api-getPrices"]
ADMIN_PAGES = ["admin:ledger_product_change", "admin:ledger_supplier_history"]


def page_of(address: str) -> tuple[str, list[object]]:
    """Return (name, arguments) of the page that a browser requests for a link."""
    path = unquote(urlsplit(address).path)
    dots = {"", ".", ".."}
    assert dots.isdisjoint(path.strip("/").split("/")), path
    assert not path.endswith("//")
    found = resolve(path)
    return found.view_name, list(found.kwargs.values())


@pytest.mark.parametrize("code", CODES)
def test_every_link_of_a_code_leads_to_its_own_page(code: str) -> None:
    for name in SKU_PAGES:
        assert page_of(reverse(name, args=["L", code])) == (name, ["L", code])
    assert page_of(reverse("supplier", args=[code])) == ("supplier", [code])
    for name in ADMIN_PAGES:
        assert page_of(reverse(name, args=[quote(code)])) == (name, [quote(code)])


def test_an_address_with_a_plain_slash_in_the_sku_leads_to_the_item() -> None:
    assert page_of("/items/L/a/b") == ("item", ["L", "a/b"])
    assert page_of("/api/v1/stock/L/a%2Fb") == ("api-getStock", ["L", "a/b"])

"""Version of the state in a desk's page."""

from importlib import import_module
from typing import Any

import psycopg
import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory


@pytest.mark.parametrize(
    ("desk", "table", "listing"),
    [
        ("webui.desks.reorders.views", "reorder_proposal", "selectors.reorder_proposals"),
        ("webui.desks.prices.views", "price_proposal", "listing.price_page"),
    ],
)
def test_a_change_while_the_page_is_made_is_news_to_the_page(
    ledger: psycopg.Connection, monkeypatch: pytest.MonkeyPatch, desk: str, table: str, listing: str
) -> None:
    views = import_module(desk)  # late: it needs Django set up
    selectors = views.selectors
    before = selectors.desk_version(table)
    contexts: list[dict[str, Any]] = []

    def read(*_: object, **_filters: object) -> list[object]:
        monkeypatch.setattr(selectors, "desk_version", lambda _table: "changed since")
        return []

    def rendered(_request: HttpRequest, _page: str, context: dict[str, Any], **_: object) -> Any:
        contexts.append(context)
        return HttpResponse()

    module, function = listing.split(".")
    monkeypatch.setattr(getattr(views, module), function, read)
    monkeypatch.setattr(views, "render_page", rendered)

    views._show(RequestFactory().get("/"), None)

    assert contexts[0]["version"] == before

"""A desk's page notices changes during its query, because its version was read before the query."""

from importlib import import_module
from typing import Any

import psycopg
import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from tests.ledger.rows import price_proposal, reorder_proposal
from webui.desks.reorders.table import NeedPage


@pytest.mark.parametrize("desk", ["reorders", "prices"])
def test_the_version_of_a_desk_page_is_read_before_its_rows(
    ledger: psycopg.Connection, monkeypatch: pytest.MonkeyPatch, desk: str
) -> None:
    views = import_module(f"webui.desks.{desk}.views")  # here, because it needs Django set up
    if desk == "reorders":
        show, reads, write = views.show_desk, (views, "need_page"), reorder_proposal
        nothing: object = NeedPage([], [])
    else:
        show, reads, write = views._show, (views.listing, "price_page"), price_proposal
        nothing = []
    contexts: list[dict[str, Any]] = []

    def rendered(_request: HttpRequest, _page: str, context: dict[str, Any], **_: object) -> Any:
        contexts.append(context)
        return HttpResponse()

    def read(*_: object, **_filters: object) -> object:
        write(ledger)
        return nothing

    monkeypatch.setattr(views, "render_page", rendered)
    request = RequestFactory().get("/")
    request.user = import_module("django.contrib.auth.models").AnonymousUser()
    show(request, None)
    monkeypatch.setattr(*reads, read)

    show(request, None)

    before, meanwhile = (context["version"] for context in contexts)
    assert meanwhile == before

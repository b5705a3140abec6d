"""Routes of the pricing desk."""

from django.urls import path

import webui.shell.code_path  # noqa: F401 -- registers the converter `code`
from webui.desks.prices import item, views

urlpatterns = [
    path("prices/", views.prices, name="prices"),
    path("prices/version", views.version, name="prices-version"),
    path("prices/decide", views.decide, name="prices-decide"),
    path("prices/stop", views.stop, name="prices-stop"),
    path("prices/items/<str:location>/<code:sku>/change", item.change, name="prices-item-change"),
    path("prices/items/<str:location>/<code:sku>", item.item_prices, name="prices-item"),
]

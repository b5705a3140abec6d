"""Routes of the stock list, its export, the item page, and the pages that find items."""

from django.urls import path

import webui.shell.code_path  # noqa: F401 -- registers the converter `code`
from webui.desks.stock import find, item, labels, views

urlpatterns = [
    path("", views.stock, name="stock"),
    path("stock.csv", views.export, name="stock-export"),
    path("find/", find.find, name="find"),
    path("scan/", find.scan, name="scan"),
    path("scan/code", find.scan_code, name="scan-code"),
    path("labels/", labels.labels, name="labels"),
    path("items/policy", item.change_policy, name="item-policy"),
    path("items/<str:location>/<code:sku>", item.item, name="item"),
]

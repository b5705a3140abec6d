"""Routes of the stock list, its export and the item page."""

from django.urls import path

from webui.desks.stock import item, views

urlpatterns = [
    path("", views.stock, name="stock"),
    path("stock.csv", views.export, name="stock-export"),
    path("items/policy", item.change_policy, name="item-policy"),
    path("items/<str:location>/<path:sku>", item.item, name="item"),
]

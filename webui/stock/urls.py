"""Stock list, export, item page."""

from django.urls import path

from webui.stock import views

urlpatterns = [
    path("", views.stock, name="stock"),
    path("stock.csv", views.export, name="stock-export"),
    path("items/<str:location>/<path:sku>", views.item, name="item"),
]

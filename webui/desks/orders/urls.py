"""Routes of the orders desk."""

from django.urls import path

from webui.desks.orders import views

urlpatterns = [
    path("orders/", views.orders, name="orders"),
    path("orders/order", views.order, name="order"),
    path("orders/send", views.send, name="orders-send"),
    path("orders/act", views.act, name="orders-act"),
    path("orders/document", views.document, name="order-document"),
    path("orders/document.csv", views.document_csv, name="order-csv"),
]

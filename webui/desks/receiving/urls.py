"""Routes of the receiving desk."""

from django.urls import path

from webui.desks.receiving import views

urlpatterns = [
    path("receiving/", views.receiving, name="receiving"),
    path("receiving/order", views.order, name="receiving-order"),
    path("receiving/receive", views.receive, name="receiving-receive"),
    path("receiving/correct", views.correct, name="receiving-correct"),
]

"""Routes of the transfers desk."""

from django.urls import path

from webui.desks.transfers import views

urlpatterns = [
    path("transfers/", views.transfers, name="transfers"),
    path("transfers/ask", views.request_transfer, name="transfers-ask"),
    path("transfers/step", views.step, name="transfers-step"),
]

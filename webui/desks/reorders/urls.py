"""Routes of the reorders desk."""

from django.urls import path

from webui.desks.reorders import need, views

urlpatterns = [
    path("reorders/", views.reorders, name="reorders"),
    path("reorders/version", views.version, name="reorders-version"),
    path("reorders/need", need.need, name="reorders-need"),
    path("reorders/decide", need.decide, name="reorders-decide"),
    path("reorders/approve", views.approve, name="reorders-approve"),
]

"""Routes of the suppliers desk."""

from django.urls import path

import webui.shell.code_path  # noqa: F401 -- registers the converter `code`
from webui.desks.suppliers import views

urlpatterns = [
    path("suppliers/", views.suppliers, name="suppliers"),
    path("suppliers/terms", views.terms, name="supplier-terms"),
    path("suppliers/<code:code>/", views.supplier, name="supplier"),
]

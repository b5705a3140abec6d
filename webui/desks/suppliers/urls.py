"""Routes of the suppliers desk."""

from django.urls import path

from webui.desks.suppliers import views

urlpatterns = [
    path("suppliers/", views.suppliers, name="suppliers"),
    path("suppliers/terms", views.terms, name="supplier-terms"),
    path("suppliers/<path:code>/", views.supplier, name="supplier"),
]

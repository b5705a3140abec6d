"""The system page and health."""

from django.urls import path

from webui.system import views

urlpatterns = [
    path("system/", views.system, name="system"),
    path("system/rejected/<str:record_id>", views.rejected, name="rejected"),
    path("livez", views.livez, name="livez"),
    path("readyz", views.readyz, name="readyz"),
]

"""Routes of the system page and the health checks."""

from django.urls import path

from webui.desks.system import demand, rejected, views, workers

urlpatterns = [
    path("system/", views.system, name="system"),
    path("system/rejected/<str:record_id>", rejected.rejected, name="rejected"),
    path("system/rejected/<str:record_id>/settle", rejected.settle, name="rejected-settle"),
    path("system/workers/", workers.workers, name="workers"),
    path("system/demand/", demand.demand, name="demand"),
    path("livez", views.livez, name="livez"),
    path("readyz", views.readyz, name="readyz"),
]

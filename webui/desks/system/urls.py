"""Routes of the system page and the health checks."""

from django.urls import path

from webui.desks.system import pages, views, webhooks

urlpatterns = [
    path("system/", views.system, name="system"),
    path("system/rejected/", pages.rejected_records, name="rejected-records"),
    path("system/proofs/", pages.proofs, name="proofs"),
    path("system/webhooks/", webhooks.webhooks, name="webhooks"),
    path("system/webhooks/act", webhooks.act, name="webhooks-act"),
    path("system/audit/", pages.audit, name="audit"),
    path("system/rejected/<str:record_id>", views.rejected, name="rejected"),
    path("system/rejected/<str:record_id>/settle", views.settle, name="rejected-settle"),
    path("system/workers/", views.workers, name="workers"),
    path("system/demand/", views.demand, name="demand"),
    path("livez", views.livez, name="livez"),
    path("readyz", views.readyz, name="readyz"),
]

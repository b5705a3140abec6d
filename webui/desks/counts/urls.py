"""Routes of the desk of counts and adjustments."""

from django.urls import path

from webui.desks.counts import adjusting, approving, views

urlpatterns = [
    path("counts/", views.counts, name="counts"),
    path("counts/sheets/", views.begin, name="counts-begin"),
    path("counts/sheets/<int:sheet_id>/", views.sheet, name="counts-sheet"),
    path("counts/sheets/<int:sheet_id>/entries", views.entries, name="counts-entries"),
    path("counts/sheets/<int:sheet_id>/undo", views.undo, name="counts-undo"),
    path("counts/sheets/<int:sheet_id>/submit", views.submit, name="counts-submit"),
    path("counts/waiting/", approving.waiting, name="counts-waiting"),
    path("counts/waiting/decide", approving.decide, name="counts-decide"),
    path("counts/limit", approving.limit, name="counts-limit"),
    path("counts/history/", approving.history, name="counts-history"),
    path("counts/history/void", approving.void, name="counts-void"),
    path("counts/adjust/", adjusting.adjust, name="counts-adjust"),
]

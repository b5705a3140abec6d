"""Routes of the files that a device stores: the service worker's script, and the offline page."""

from django.urls import path

from webui.shell import installed

urlpatterns = [
    path("service-worker.js", installed.service_worker, name="service-worker"),
    path("offline/", installed.offline, name="offline"),
]

"""Routes of what a device installs: the service worker's script, and the page without a network."""

from django.urls import path

from webui.shell import installed

urlpatterns = [
    path("service-worker.js", installed.service_worker, name="service-worker"),
    path("offline/", installed.offline, name="offline"),
]

"""Routes of the application's frame: what a device installs and shows without a network."""

from django.urls import path

from webui.shell import installed

urlpatterns = [
    path("service-worker.js", installed.service_worker, name="service-worker"),
    path("offline/", installed.offline, name="offline"),
]

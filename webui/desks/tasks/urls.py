"""Routes of the tasks desk."""

from django.urls import path

from webui.desks.tasks import views

urlpatterns = [
    path("tasks/", views.tasks, name="tasks"),
    path("tasks/version", views.version, name="tasks-version"),
    path("tasks/acknowledge", views.acknowledge, name="tasks-acknowledge"),
]

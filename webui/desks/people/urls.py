"""Routes of the people desk."""

from django.urls import path

from webui.desks.people import refused_views, views

urlpatterns = [
    path("people/", views.people, name="people"),
    path("people/add", views.add, name="people-add"),
    path("people/act", views.act, name="people-act"),
    path("people/refused/", refused_views.refused, name="people-refused"),
]

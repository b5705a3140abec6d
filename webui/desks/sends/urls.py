"""Routes of the sends that wait."""

from django.urls import path

from webui.desks.sends import views

urlpatterns = [path("reorders/sends", views.act, name="reorders-sends")]

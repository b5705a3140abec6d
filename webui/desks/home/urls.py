"""Route of the home page."""

from django.urls import path

from webui.desks.home import views

urlpatterns = [path("home/", views.home, name="home")]

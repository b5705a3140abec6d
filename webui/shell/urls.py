"""Routes of the application's frame."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []

"""The desk that takes items into the range."""

from django.urls import path

from webui.ranging import views

urlpatterns = [
    path("range/", views.ranging, name="ranging"),
    path("range/item", views.take, name="ranging-item"),
]

"""Routes of the ranging desk."""

from django.urls import path

from webui.desks.ranging import views

urlpatterns = [
    path("range/", views.ranging, name="ranging"),
    path("range/item", views.range_item, name="ranging-item"),
]

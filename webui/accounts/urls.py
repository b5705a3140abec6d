"""Login and logout."""

from django.urls import path

from webui.accounts.views import Login, Logout

urlpatterns = [
    path("login/", Login.as_view(), name="login"),
    path("logout/", Logout.as_view(), name="logout"),
]

"""Login in one or two steps, logout, second factor."""

from django.urls import path

from webui.accounts import enrolment
from webui.accounts.views import Login, code, log_out

urlpatterns = [
    path("login/", Login.as_view(), name="login"),
    path("login/code/", code, name="login-code"),
    path("logout/", log_out, name="logout"),
    path("account/second-factor/", enrolment.page, name="second-factor"),
]

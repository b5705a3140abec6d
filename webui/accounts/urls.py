"""Addresses of login, logout, invitation, second factor, sessions and password."""

from django.urls import path

from webui.accounts import enrolment, invited, own_sessions, passwords
from webui.accounts.views import Login, code, log_out

urlpatterns = [
    path("login/", Login.as_view(), name="login"),
    path("login/code/", code, name="login-code"),
    path("logout/", log_out, name="logout"),
    path("invitation/<str:token>/", invited.invitation, name="invitation"),
    path("account/second-factor/", enrolment.page, name="second-factor"),
    path("account/sessions/", own_sessions.sessions, name="sessions"),
    path("account/password/", passwords.change, name="password"),
    path("account/password/changed/", passwords.changed, name="password-changed"),
]

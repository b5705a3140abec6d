"""Routes of login, logout, language, invitation, second factor, sessions, tokens and password."""

from django.urls import path

from webui.accounts import (
    invitation_page,
    language_page,
    passwords,
    second_factor_page,
    sessions_page,
    tokens_page,
)
from webui.accounts.views import Login, code, log_out

urlpatterns = [
    path("login/", Login.as_view(), name="login"),
    path("login/code/", code, name="login-code"),
    path("language/", language_page.choose, name="language"),
    path("logout/", log_out, name="logout"),
    path("invitation/<str:token>/", invitation_page.invitation, name="invitation"),
    path("account/second-factor/", second_factor_page.page, name="second-factor"),
    path("account/sessions/", sessions_page.sessions, name="sessions"),
    path("account/tokens/", tokens_page.tokens, name="tokens"),
    path("account/password/", passwords.change, name="password"),
    path("account/password/changed/", passwords.changed, name="password-changed"),
]

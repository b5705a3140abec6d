"""Django's deployment check of the settings behind TLS."""

import os
import subprocess
import sys

from deploy.stack.home import PROJECT

PRODUCTION = {
    "INVENTORY_HTTPS": "true",
    "INVENTORY_SECRET_KEY": "0123456789 abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "INVENTORY_ALLOWED_HOSTS": "stock.example.org",
    "INVENTORY_TRUSTED_ORIGINS": "https://stock.example.org",
    "DJANGO_SETTINGS_MODULE": "webui.config.settings",
}


def checked(changes: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = "-m", "webui.manage", "check", "--deploy", "--fail-level", "WARNING"
    return subprocess.run(  # noqa: S603 -- our own command
        [sys.executable, *command],
        cwd=PROJECT,
        env=os.environ | PRODUCTION | changes,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_settings_of_a_deployment_raise_no_warning() -> None:
    result = checked({})

    assert result.returncode == 0, result.stderr


def test_a_deployment_without_tls_would_be_found() -> None:
    assert "SESSION_COOKIE_SECURE" in checked({"INVENTORY_HTTPS": "false"}).stderr


def test_cookies_behind_tls_are_bound_to_their_host() -> None:
    program = (
        "from django.conf import settings as s;"
        "print(s.SESSION_COOKIE_NAME, s.CSRF_COOKIE_NAME, s.SESSION_COOKIE_SECURE,"
        " s.SESSION_COOKIE_HTTPONLY, s.SESSION_COOKIE_SAMESITE, s.SESSION_COOKIE_DOMAIN)"
    )
    shown = subprocess.run(  # noqa: S603 -- our own settings
        [sys.executable, "-c", program],
        cwd=PROJECT,
        env=os.environ | PRODUCTION,
        capture_output=True,
        text=True,
        check=True,
    )

    assert shown.stdout.split() == [
        *("__Host-sessionid", "__Host-csrftoken", "True", "True", "Lax", "None")
    ]

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


def shown(*names: str, **changes: str) -> list[str]:
    """Return settings as a deployment behind TLS has them."""
    program = f"from django.conf import settings as s; print(*(getattr(s, n) for n in {names}))"
    return subprocess.run(  # noqa: S603 -- our own settings
        [sys.executable, "-c", program],
        cwd=PROJECT,
        env=os.environ | PRODUCTION | changes,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()


def test_cookies_behind_tls_are_bound_to_their_host() -> None:
    names = "SESSION_COOKIE_NAME", "CSRF_COOKIE_NAME", "SESSION_COOKIE_SECURE"
    more = "CSRF_COOKIE_SECURE", "SESSION_COOKIE_HTTPONLY", "SESSION_COOKIE_SAMESITE"

    assert shown(*names, *more, "SESSION_COOKIE_DOMAIN", "CSRF_COOKIE_DOMAIN") == [
        *("__Host-sessionid", "__Host-csrftoken", "True", "True", "True", "Lax", "None", "None")
    ]


def test_requests_behind_tls_are_redirected_and_hsts_is_set_for_a_year() -> None:
    names = "SECURE_SSL_REDIRECT", "SECURE_HSTS_SECONDS", "SECURE_HSTS_INCLUDE_SUBDOMAINS"

    assert shown(*names) == ["True", str(365 * 86_400), "True"]


def test_no_variable_turns_debugging_on() -> None:
    variables = dict.fromkeys(("DEBUG", "DJANGO_DEBUG", "INVENTORY_DEBUG"), "true")

    assert shown("DEBUG", **variables) == ["False"]


def test_all_roles_can_be_made_to_need_a_second_factor() -> None:
    roles = "associate,manager,buyer,lead,pricing,analyst,operator"

    found = " ".join(shown("SECOND_FACTOR_ROLES", INVENTORY_SECOND_FACTOR_ROLES=roles))

    assert found == str(tuple(roles.split(",")))


def test_probes_behind_tls_are_answered_at_loopback_addresses() -> None:
    """After a redirected or refused probe, the supervisor would restart the web server."""
    program = """
import django; django.setup()
from django.test import Client
for host in ("127.0.0.1:8000", "localhost:8000", "stock.example.org"):
    print(Client().get("/livez", headers={"host": host}).status_code)
print(Client().get("/login/", headers={"host": "stock.example.org"}).status_code)
"""
    found = subprocess.run(  # noqa: S603 -- our own settings
        [sys.executable, "-c", program],
        cwd=PROJECT,
        env=os.environ | PRODUCTION,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()

    assert found == ["200", "200", "200", "301"]

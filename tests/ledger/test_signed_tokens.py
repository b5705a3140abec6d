"""Signed tokens in browsers: each has one purpose and a lifetime, and is invalid if changed."""

import time
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from django.core import signing
from django.http import HttpResponse
from django.test import RequestFactory

from tests.ledger.pages import person
from tests.ledger.staff import client, log_in

DAY_S = 86_400


@pytest.fixture
def devices(ledger: psycopg.Connection) -> Any:
    return import_module("webui.accounts.devices")  # here, because it needs Django set up


def read(devices: Any, token: str) -> str | None:
    request = RequestFactory().get("/login/")
    request.COOKIES[devices.COOKIE] = token
    device: str | None = devices.device_of(request, "ann")
    return device


def given(devices: Any) -> str:
    response = HttpResponse()
    devices.remember(RequestFactory().get("/login/"), response, "ann")
    return str(response.cookies[devices.COOKIE].value)


def test_a_signed_cookie_identifies_a_browser_for_ninety_days(
    devices: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = {}

    for days in (0, 89, 91):
        past = SimpleNamespace(time=lambda days=days: time.time() - days * DAY_S)
        with monkeypatch.context() as patched:
            patched.setattr(signing, "time", past)
            token = given(devices)
        seen[days] = read(devices, token) is not None

    assert seen == {0: True, 89: True, 91: False}
    changed = given(devices)[:-4] + "AAAA"
    assert read(devices, changed) is None


def test_a_token_of_another_purpose_or_key_is_refused_as_device_cookie(devices: Any) -> None:
    access = import_module("webui.live.access")
    content = {"id": "x", "accounts": [devices._mark("ann")]}

    assert read(devices, signing.dumps(content, salt=devices._SALT)) == "x"
    assert read(devices, signing.dumps(content, salt=access.SALT)) is None
    assert read(devices, signing.dumps(content, salt=devices._SALT, key="another")) is None


def test_signed_keys_of_a_live_stream_expire_after_twelve_hours(
    ledger: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    access = import_module("webui.live.access")
    ann = person("associate", "ann")
    mine = import_module("ledger.people").User.objects.get(username="ann").pk
    seen = []

    for hours in (11, 13):
        past = SimpleNamespace(time=lambda hours=hours: time.time() - hours * 3600)
        with monkeypatch.context() as patched:
            patched.setattr(signing, "time", past)
            keys = access.sign_keys(mine, ["L|S"])
        answer = ann.get("/live/stream", {"keys": keys})
        seen.append(answer.status_code)
        answer.close()

    assert seen == [200, 403]


def test_the_device_cookie_is_sent_to_the_login_only(staff: psycopg.Connection) -> None:
    browser = client()

    cookie = log_in(browser).cookies["device"]

    assert (cookie["path"], cookie["httponly"], cookie["samesite"]) == ("/login/", True, "Lax")

"""Django's settings, which translated texts need. No test of this folder uses a database."""

import os
import tempfile
from pathlib import Path
from unittest import mock

import django
import pytest


@pytest.fixture(scope="session", autouse=True)
def set_up() -> None:
    """Set up Django with a home that doesn't exist, so that it finds no stack of this machine."""
    nowhere = {
        "INVENTORY_HOME": str(Path(tempfile.gettempdir()) / "no-home"),
        "DJANGO_SETTINGS_MODULE": "webui.config.settings",
    }
    with mock.patch.dict(os.environ, nowhere):
        django.setup()

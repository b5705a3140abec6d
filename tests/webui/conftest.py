"""Django for texts: they are translated, which needs its settings. No test here has a database."""

import os
import tempfile
from pathlib import Path
from unittest import mock

import django
import pytest


@pytest.fixture(scope="session", autouse=True)
def set_up() -> None:
    """Set Django up, away from a stack of this machine."""
    nowhere = {
        "INVENTORY_HOME": str(Path(tempfile.gettempdir()) / "no-home"),
        "DJANGO_SETTINGS_MODULE": "webui.config.settings",
    }
    with mock.patch.dict(os.environ, nowhere):
        django.setup()

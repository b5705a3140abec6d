"""Setup of Django in a command: the running stack's variables first, then the settings."""

import os

from deploy.stack.home import Home
from deploy.stack.runtime import load_environment


def setup_django() -> None:
    """Set Django up with the variables of this process."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webui.config.settings")
    import django  # noqa: PLC0415 -- reads the environment

    django.setup()


def connect_django(home: Home | None = None) -> None:
    """Point this process at the running stack and set Django up."""
    load_environment(home)
    setup_django()

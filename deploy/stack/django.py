"""Setup of Django in a command, after the variables of the running stack are loaded."""

import os

from deploy.stack.home import Home
from deploy.stack.runtime import load_environment


def setup_django() -> None:
    """Set Django up with the environment variables of this process."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webui.config.settings")
    import django  # noqa: PLC0415 -- reads the environment

    django.setup()


def connect_django(home: Home | None = None) -> None:
    """Load the variables of the running stack into this process, and set Django up.

    Raises:
        StackError: no stack runs in this home.
    """
    load_environment(home)
    setup_django()

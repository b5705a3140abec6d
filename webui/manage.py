"""Django's command line: `python -m webui.manage migrate | seed_demo_users | check`.

Commands for migrations connect as the owner of the schema. All others use the application's role,
which can't change the schema.
"""

import os
import sys

from django.core.management import execute_from_command_line

OWNER_COMMANDS = frozenset({"migrate", "showmigrations", "sqlmigrate", "makemigrations"})


def main(arguments: list[str] | None = None) -> None:
    """Run one management command with the database role that it needs."""
    argv = ["manage.py", *(sys.argv[1:] if arguments is None else arguments)]
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webui.config.settings")
    if len(argv) > 1 and argv[1] in OWNER_COMMANDS:
        os.environ["INVENTORY_DATABASE_ROLE"] = "owner"
    execute_from_command_line(argv)


if __name__ == "__main__":
    main()

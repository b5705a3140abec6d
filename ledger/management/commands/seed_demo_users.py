"""`seed_demo_users`: write one demo person per role and print the logins."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from typing_extensions import override

from ledger.people import seed_demo_users


class Command(BaseCommand):
    """Create or reset the demo logins."""

    help = "Create or reset one demo login per role."

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--password", help="the same password for all; random ones if absent")
        parser.add_argument(
            "--everywhere", action="store_true", help="give each of them every store"
        )

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        for name, password in seed_demo_users(
            options["password"], everywhere=options["everywhere"]
        ).items():
            self.stdout.write(f"{name} {password}")

"""`seed_demo`: write the demo retailer with its history, once."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from typing_extensions import override

from webui.trading.demo import seed_demo


class Command(BaseCommand):
    """Write the demo retailer through the services."""

    help = "Write the demo retailer and its history; does nothing when it is there."

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--size", default="demo")

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        if not seed_demo(seed=options["seed"], size=options["size"], progress=self.stdout.write):
            self.stdout.write("the demo retailer is there already")

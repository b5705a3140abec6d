"""The exceptions inbox."""

from typing import Any, ClassVar

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("ledger", "0011_prices")]
    operations: ClassVar[list[Any]] = []

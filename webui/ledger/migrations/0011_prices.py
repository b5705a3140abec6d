"""Prices as people work with them."""

from typing import Any, ClassVar

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("ledger", "0010_counts_and_transfers")]
    operations: ClassVar[list[Any]] = []

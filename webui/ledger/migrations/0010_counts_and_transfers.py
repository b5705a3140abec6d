"""Counts, transfers and adjustments as people work with them."""

from typing import Any, ClassVar

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("ledger", "0009_purchase_orders")]
    operations: ClassVar[list[Any]] = []

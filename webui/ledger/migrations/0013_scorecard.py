"""Supplier scorecard."""

from typing import Any, ClassVar

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("ledger", "0012_tasks")]
    operations: ClassVar[list[Any]] = []

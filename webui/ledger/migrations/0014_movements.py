"""One view of all stock movements."""

from typing import Any, ClassVar

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("ledger", "0013_scorecard")]
    operations: ClassVar[list[Any]] = []

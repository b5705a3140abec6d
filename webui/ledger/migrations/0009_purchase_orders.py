"""Orders as people work with them."""

from typing import Any, ClassVar

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("ledger", "0008_unmanaged_models_of_people")]
    operations: ClassVar[list[Any]] = []

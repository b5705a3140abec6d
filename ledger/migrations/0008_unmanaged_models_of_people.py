"""An empty migration. Its name stays, because databases have recorded it as applied; see 0007."""

from django.db import migrations


class Migration(migrations.Migration):
    initial = True
    dependencies = [("ledger", "0007_unmanaged_models")]
    operations = []

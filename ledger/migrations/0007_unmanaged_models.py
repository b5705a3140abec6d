"""An empty migration. Its name stays, because databases have recorded it as applied.

Earlier versions declared Django models here that no page, form or admin used. The tables are those
of the SQL in 0002, 0003 and 0006.
"""

from django.db import migrations


class Migration(migrations.Migration):
    initial = True
    dependencies = [("ledger", "0006_proposals")]
    operations = []
